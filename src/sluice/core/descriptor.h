// sluice/core/descriptor.h - an open file that is closed with its owner, and errno in words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  /// 0, or errno: network file systems report a full disk only now. Closed even after EINTR.
  int close() { return ::close(release()) == 0 || errno == EINTR ? 0 : errno; }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

/// strerror() shares one buffer between threads; this does not.
inline std::string why(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace sluice
