// sluice/aug/procedural/noise.h - random numbers by position: bits, uniform and normal values of
// (key, index).
// SPDX-License-Identifier: Apache-2.0
//
// Stateless, so an image, a row or a tile can be filled from anywhere, by any vector width, with
// the same result. All integers: equal on every machine. kernels/random.h fills whole arrays.
#pragma once

#include <array>
#include <cstdint>

namespace sluice::aug {

/// One sequence of 2^32 words. Streams of one key, and equal streams of different keys, are
/// independent.
struct NoiseStream {
  std::uint32_t start = 0;
  std::uint32_t middle = 0;
};

constexpr NoiseStream noise_stream(std::uint64_t key, std::uint32_t stream) {
  std::uint64_t z = key + (std::uint64_t{stream} + 1) * 0x9E3779B97F4A7C15ULL;  // SplitMix64
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return {static_cast<std::uint32_t>(z), static_cast<std::uint32_t>(z >> 32)};
}

inline constexpr std::uint32_t kNoiseWeyl = 0x9E3779B1U;  // prime near 2^32 / golden ratio
/// Multipliers with little avalanche bias for shifts 16, 15, 16 (C. Wellons, 2018).
inline constexpr std::uint32_t kNoiseMix1 = 0x7FEB352DU, kNoiseMix2 = 0x846CA68BU;

/// Word `counter` of a stream.
constexpr std::uint32_t noise_bits(NoiseStream stream, std::uint32_t counter) {
  std::uint32_t x = counter * kNoiseWeyl + stream.start;
  x ^= x >> 16;
  x = x * kNoiseMix1 + stream.middle;
  x ^= x >> 15;
  x *= kNoiseMix2;
  return x ^ (x >> 16);
}

/// [0, 1), steps of 2^-24: exact in f32.
constexpr float noise_uniform(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24F;
}
/// [-1, 1), steps of 2^-23: exact in f32.
constexpr float noise_signed(std::uint32_t bits) {
  return static_cast<float>(static_cast<std::int32_t>(bits) >> 8) * 0x1p-23F;
}

/// A normal value is a sum of four table entries chosen by the four nibbles of 16 random bits,
/// three of them weighted by 4. The tables are symmetric and were searched for the smallest
/// distance to the normal distribution: the largest error of the distribution function is 0.00034,
/// the excess kurtosis -0.006, the share beyond 1, 2, 3, 3.5 standard deviations right within 2 %;
/// nothing lies beyond 3.98.
inline constexpr std::array<std::array<std::int8_t, 16>, 4> kNormalTables = {
    {{{-51, -33, -23, -21, -17, -14, -4, -3, 3, 4, 14, 17, 21, 23, 33, 51}},
     {{-42, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 42}},
     {{-34, -21, -19, -13, -10, -8, -5, -2, 2, 5, 8, 10, 13, 19, 21, 34}},
     {{-53, -51, -38, -30, -24, -16, -11, -5, 5, 11, 16, 24, 30, 38, 51, 53}}}};
inline constexpr int kNormalLargest = 4 * (51 + 42 + 34) + 53;
/// Standard deviation of noise_normal.
inline constexpr double kNormalStd = 140.99468075072903;

constexpr int noise_normal(std::uint32_t low_byte, std::uint32_t high_byte) {
  const auto entry = [](std::size_t table, std::uint32_t nibble) {
    return static_cast<int>(kNormalTables[table][nibble & 15U]);
  };
  return 4 * (entry(0, low_byte) + entry(1, low_byte >> 4) + entry(2, high_byte)) +
         entry(3, high_byte >> 4);
}

/// Normal values of a key by index: mean 0, standard deviation kNormalStd.
struct NormalNoise {
  NoiseStream low, high;
  constexpr explicit NormalNoise(std::uint64_t key)
      : low(noise_stream(key, 0)), high(noise_stream(key, 1)) {}
  /// Byte index % 4 of word index / 4 of both streams.
  [[nodiscard]] constexpr int at(std::uint64_t index) const {
    const auto word = static_cast<std::uint32_t>(index >> 2);
    const auto shift = static_cast<unsigned>(index & 3) * 8;
    return noise_normal((noise_bits(low, word) >> shift) & 255U,
                        (noise_bits(high, word) >> shift) & 255U);
  }
};

/// A random order of 0 to 2^bits - 1, 2^bits being at least `size`: places without repetition.
/// Three rounds of multiplying by an odd number, adding and folding, each of which is reversible.
struct ShuffledIndex {
  std::uint32_t mask = 0;
  int fold = 1;
  std::array<std::uint32_t, 3> factor{};
  std::array<std::uint32_t, 3> add{};

  constexpr ShuffledIndex(std::uint64_t key, std::uint32_t size) {
    int bits = 2;
    while (bits < 32 && (std::uint64_t{1} << bits) < size)
      ++bits;
    mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
    fold = (bits + 1) / 2;
    for (std::uint32_t i = 0; i < 3; ++i) {
      const NoiseStream stream = noise_stream(key, 16 + i);
      factor[i] = stream.start | 1U;
      add[i] = stream.middle;
    }
  }
  [[nodiscard]] constexpr std::uint32_t at(std::uint32_t i) const {
    std::uint32_t x = i;
    for (std::size_t round = 0; round < 3; ++round) {
      x = (x * factor[round] + add[round]) & mask;
      x ^= x >> fold;
    }
    return x;
  }
};

}  // namespace sluice::aug
