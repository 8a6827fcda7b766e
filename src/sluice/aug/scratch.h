// sluice/aug/scratch.h - memory a fast path works in: grows until it suffices, then never again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace sluice::aug {

/// One per thread. Transform::apply starts it afresh, so what take() gave is valid until the next
/// apply. After the first image of the largest size nothing is allocated any more.
class Scratch {
 public:
  static constexpr std::size_t kAlignment = 64;
  /// So many bytes behind every piece may be read and written: vector tails need no care.
  static constexpr std::size_t kSlackBytes = 256;

  /// `count` values, undefined, aligned to kAlignment.
  template <class T>
  std::span<T> take(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
    return {static_cast<T*>(take_bytes(count * sizeof(T))), count};
  }

  /// Everything taken is free again; several blocks become one that holds them all.
  void restart();

  [[nodiscard]] std::size_t capacity_bytes() const;

 private:
  struct Free {
    void operator()(std::byte* block) const;
  };
  struct Block {
    std::unique_ptr<std::byte, Free> bytes;
    std::size_t size = 0;
    std::size_t used = 0;
  };
  void* take_bytes(std::size_t bytes);

  std::vector<Block> blocks_;
};

}  // namespace sluice::aug
