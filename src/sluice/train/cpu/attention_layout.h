// sluice/train/cpu/attention_layout.h - where one pair's rows lie, how its scores are cut into
// blocks, and what its scratch holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cpu/rope.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sluice::train::cpu {

constexpr std::int64_t kPad = 16;  // floats of the widest vector, and of a cache line

inline std::int64_t padded(std::int64_t count) {
  return (count + kPad - 1) / kPad * kPad;
}

/// One pair of (sample, head).
struct PairAt {
  PairAt(const Heads& s, std::int64_t pair)
      : by_head(pair * s.tokens * s.head_dim),
        by_token((pair / s.heads * s.tokens * s.heads + pair % s.heads) * s.head_dim),
        token_row(s.heads * s.head_dim),
        first_token(pair * s.tokens) {}
  std::int64_t by_head;      // first element in q, k, v
  std::int64_t by_token;     // first element in y
  std::int64_t token_row;    // elements from one token to the next in y
  std::int64_t first_token;  // in lse
};

/// Queries whose scores are held at a time: half a megabyte of them, for a second-level cache.
inline std::int64_t block_rows(const Heads& s) {
  constexpr std::int64_t kElements = 1 << 17, kFewest = 24;
  const std::int64_t most = std::max(kElements / padded(s.tokens), kFewest);
  const std::int64_t blocks = (s.tokens + most - 1) / most;
  return (s.tokens + blocks - 1) / blocks;
}

/// Cuts a scratch into arrays, each at a cache line. With a null start it only counts.
class Carver {
 public:
  explicit Carver(void* start) : start_(static_cast<std::byte*>(start)) {}
  float* floats(std::int64_t count) {
    const std::size_t at = bytes_;
    bytes_ += static_cast<std::size_t>(padded(count)) * sizeof(float);
    return start_ == nullptr ? nullptr : reinterpret_cast<float*>(start_ + at);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* start_;
  std::size_t bytes_ = 0;
};

}  // namespace sluice::train::cpu
