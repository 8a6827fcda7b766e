// sluice/core/rng.h - counter-based random numbers: the value depends on its key and counter, never
// on history.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace sluice {

/// What a draw belongs to. Two draws with different keys are independent, so adding, removing or
/// retrying one transform changes no other. Data uses (seed, epoch, index, repeat, stage), training
/// (seed, step, sample, layer).
struct RngKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;  // training: step
  std::uint64_t index = 0;  // training: sample
  std::uint32_t repeat = 0;
  std::uint32_t stage = 0;  // training: layer
};

/// Philox4x32-10 (Salmon et al., 2011) over a counter of its own; the key is mixed from all fields
/// of RngKey. The mapping is frozen: tests/core/rng_test.cpp holds the vectors. Integers are the
/// same on every machine; what goes through floating point (uniform(low, high), normal) may differ
/// in the last bit between machines.
class Rng {
 public:
  explicit Rng(const RngKey& key);

  std::uint32_t next_u32();
  std::uint64_t next_u64();
  /// Uniform in [0, 1), 53 random bits.
  double uniform();
  /// Uniform in [low, high).
  double uniform(double low, double high);
  /// Uniform integer in [0, bound), without modulo bias. Precondition: bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform integer in [low, high], both included. Precondition: low <= high.
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  /// Standard normal (Box-Muller, both halves used).
  double normal();
  /// Fisher-Yates.
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::array<std::uint32_t, 2> key_{};
  std::array<std::uint32_t, 4> counter_{};
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;       // words of block_ already given out
  bool has_spare_ = false;  // the second half of a Box-Muller pair
  double spare_ = 0;
};

/// The raw block function, for its published test vectors.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key);

}  // namespace sluice
