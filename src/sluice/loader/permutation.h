// sluice/loader/permutation.h - a shuffled order of 0..n-1 that is computed, not stored.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/rng.h"

#include <array>
#include <cstdint>

namespace sluice::loader {

/// A Feistel network over the smallest even number of bits that holds n - 1; what falls outside is
/// sent through again until it is inside (at most 4 times on average). Frozen: stored positions of
/// a loader depend on it.
class Permutation {
 public:
  Permutation() = default;
  Permutation(std::uint64_t size, const RngKey& key);

  /// Precondition: place < size.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t place) const;
  [[nodiscard]] std::uint64_t inverse(std::uint64_t value) const;

 private:
  static constexpr std::size_t kRounds = 8;
  [[nodiscard]] std::uint64_t round(std::uint64_t half, std::size_t round) const;
  [[nodiscard]] std::uint64_t forward(std::uint64_t x) const;
  [[nodiscard]] std::uint64_t backward(std::uint64_t x) const;

  std::uint64_t size_ = 0;
  unsigned half_bits_ = 1;
  std::uint64_t half_mask_ = 1;
  std::array<std::uint64_t, kRounds> keys_{};
};

}  // namespace sluice::loader
