// sluice/storage/local/descriptor.h - an open file that is closed with its owner, and errno in
// words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice::storage {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return fd_; }
  /// 0, or errno: network file systems report a full disk only now.
  int close() { return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

/// strerror() shares one buffer between threads; this does not.
inline std::string why(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace sluice::storage
