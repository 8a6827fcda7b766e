// sluice/storage/local/read_buffer.h - memory that bytes are read into, kept from read to read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace sluice::storage {

/// Aligned for O_DIRECT. One per thread; grows to the largest read and stays.
class ReadBuffer {
 public:
  static constexpr std::size_t kAlignment = 4096;
  static constexpr std::size_t kMost = std::size_t{1} << 39;  // a sample of 512 GiB is none

  /// `size` bytes, content undefined; what was handed out before is gone. Throws std::bad_alloc.
  std::span<std::byte> take(std::size_t size) {
    if (size > capacity_) {
      if (size > kMost) throw std::bad_alloc();
      memory_.reset();
      capacity_ = 0;
      const std::size_t rounded = (size + size / 4 + kAlignment - 1) / kAlignment * kAlignment;
      memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
      if (!memory_) throw std::bad_alloc();
      capacity_ = rounded;
    }
    return {memory_.get(), size};
  }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace sluice::storage
