// tests/aug/noise_test.cpp - the noise generator: frozen vectors, distribution, kernels equal the
// definition on every instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/procedural/noise.h"

#include "sluice/aug/kernels/random.h"
#include "sluice/image/simd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::aug::noise_test {
namespace {

constexpr std::uint32_t kMany = 1U << 18;

double chi_square(const std::vector<double>& found, double expected) {
  double sum = 0;
  for (const double n : found)
    sum += (n - expected) * (n - expected) / expected;
  return sum;
}

/// Chi-square with many degrees of freedom is nearly normal: how many standard deviations off.
double deviations(double chi, double freedom) {
  return (chi - freedom) / std::sqrt(2 * freedom);
}

double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

TEST(Noise, VectorsAreFrozen) {
  const NoiseStream stream = noise_stream(0x0123456789ABCDEFULL, 0);
  const NoiseStream other = noise_stream(0x0123456789ABCDEFULL, 1);
  const std::array<std::uint32_t, 6> found = {
      noise_bits(stream, 0),   noise_bits(stream, 1), noise_bits(stream, 2),
      noise_bits(stream, ~0U), noise_bits(other, 0),  noise_bits(noise_stream(0, 0), 0)};
  const std::array<std::uint32_t, 6> frozen = {3030389285U, 2565654923U, 1597864237U,
                                               241175807U,  3559157360U, 3716298144U};
  EXPECT_EQ(found, frozen);
  const NormalNoise normal(42);
  const std::array<int, 6> values = {normal.at(0), normal.at(1), normal.at(2),
                                     normal.at(3), normal.at(4), normal.at(1000001)};
  EXPECT_EQ(values, (std::array<int, 6>{183, 118, 93, 142, 314, 119}));
  EXPECT_EQ(noise_uniform(~0U), 1.0F - 0x1p-24F);
  EXPECT_EQ(noise_signed(0x80000000U), -1.0F);
}

TEST(Noise, WordsAreUniformInEveryByteAndInPairs) {
  for (const std::uint64_t key : {0ULL, 1ULL, 2ULL, 0xFFFFFFFFFFFFFFFFULL, 77777ULL}) {
    const NoiseStream stream = noise_stream(key, 0);
    for (unsigned byte = 0; byte < 4; ++byte) {
      std::vector<double> single(256), pairs(256 * 256);
      std::uint32_t before = 0;
      for (std::uint32_t i = 0; i < kMany; ++i) {
        const std::uint32_t now = (noise_bits(stream, i) >> (8 * byte)) & 255U;
        single[now] += 1;
        if (i % 2 == 1) pairs[before * 256 + now] += 1;
        before = now;
      }
      EXPECT_LT(std::abs(deviations(chi_square(single, kMany / 256.0), 255)), 4.5) << key;
      EXPECT_LT(std::abs(deviations(chi_square(pairs, kMany / 2 / 65536.0), 65535)), 4.5) << key;
    }
  }
}

TEST(Noise, EveryBitOfTheIndexAndKeyChangesHalfOfTheWord) {
  for (unsigned bit = 0; bit < 96; ++bit) {
    double changed = 0;
    constexpr std::uint32_t kTrials = 4000;
    for (std::uint32_t i = 0; i < kTrials; ++i) {
      const std::uint64_t key = 0x5DEECE66DULL * i + 11;
      const std::uint32_t word = noise_bits(noise_stream(key, 0), i * 7919);
      const std::uint32_t moved =
          bit < 32 ? noise_bits(noise_stream(key, 0), (i * 7919) ^ (1U << bit))
                   : noise_bits(noise_stream(key ^ (1ULL << (bit - 32)), 0), i * 7919);
      changed += std::popcount(word ^ moved);
    }
    EXPECT_NEAR(changed / kTrials, 16.0, 16 * 0.02) << "bit " << bit;
  }
}

TEST(Noise, NeighboursAndStreamsAreUncorrelated) {
  const NoiseStream stream = noise_stream(5, 0), other = noise_stream(5, 1),
                    near = noise_stream(6, 0);
  const auto correlation = [&](auto a, auto b) {
    double sum = 0;
    for (std::uint32_t i = 0; i < kMany; ++i)
      sum += (a(i) - 0.5) * (b(i) - 0.5);
    return sum / kMany * 12;
  };
  const auto word = [&](std::uint32_t i) { return noise_uniform(noise_bits(stream, i)); };
  const double limit = 4.5 / std::sqrt(static_cast<double>(kMany));
  for (const std::uint32_t lag : {1U, 2U, 3U, 4U, 16U, 125U, 375U, 500U, 1500U, 65536U})
    EXPECT_LT(std::abs(correlation(word, [&](std::uint32_t i) { return word(i + lag); })), limit)
        << lag;
  for (const NoiseStream& with : {other, near})
    EXPECT_LT(std::abs(correlation(
                  word, [&](std::uint32_t i) { return noise_uniform(noise_bits(with, i)); })),
              limit);
}

TEST(Noise, NormalTablesHaveTheStatedAccuracy) {
  std::vector<double> share(2 * kNormalLargest + 1);
  for (std::uint32_t a = 0; a < 256; ++a)
    for (std::uint32_t b = 0; b < 256; ++b)
      share[static_cast<std::size_t>(noise_normal(a, b) + kNormalLargest)] += 1 / 65536.0;
  double mean = 0, square = 0, fourth = 0, cdf = 0, worst = 0;
  for (std::size_t i = 0; i < share.size(); ++i) {
    const double x = static_cast<double>(i) - kNormalLargest;
    mean += share[i] * x;
    square += share[i] * x * x;
    fourth += share[i] * x * x * x * x;
    cdf += share[i];
    worst = std::max(worst, std::abs(cdf - normal_cdf((x + 0.5) / kNormalStd)));
  }
  EXPECT_NEAR(mean, 0, 1e-9);
  EXPECT_NEAR(std::sqrt(square), kNormalStd, 1e-9);
  EXPECT_NEAR(fourth / (square * square), 3, 0.007);
  EXPECT_LT(worst, 0.00035);
}

TEST(Noise, NormalValuesAreNormalAndIndependent) {
  for (const std::uint64_t key : {1ULL, 0xABCDEF0123456789ULL}) {
    const NormalNoise noise(key);
    double sum = 0, square = 0, cube = 0, fourth = 0, beside = 0, before = 0;
    std::array<double, 4> beyond{};
    for (std::uint32_t i = 0; i < kMany; ++i) {
      const double z = noise.at(i) / kNormalStd;
      sum += z;
      square += z * z;
      cube += z * z * z;
      fourth += z * z * z * z;
      beside += z * before;
      before = z;
      for (std::size_t k = 0; k < 4; ++k)
        beyond[k] += std::abs(z) > static_cast<double>(k) ? 1.0 / kMany : 0;
    }
    const double error = 1 / std::sqrt(static_cast<double>(kMany));
    EXPECT_NEAR(sum / kMany, 0, 4.5 * error);
    EXPECT_NEAR(square / kMany, 1, 4.5 * std::sqrt(2.0) * error);
    EXPECT_NEAR(cube / kMany, 0, 4.5 * std::sqrt(15.0) * error);
    EXPECT_NEAR(fourth / kMany, 3, 4.5 * std::sqrt(96.0) * error);
    EXPECT_NEAR(beside / kMany, 0, 4.5 * error);
    EXPECT_NEAR(beyond[1], 0.3173, 0.005);
    EXPECT_NEAR(beyond[2], 0.0455, 0.002);
    EXPECT_NEAR(beyond[3], 0.0027, 0.0005);
  }
}

TEST(Noise, KernelsEqualTheDefinitionOnEveryInstructionSet) {
  for (const std::string& target : image::simd_targets()) {
    const image::SimdTargetOverride with(target);
    for (const std::size_t count : {0U, 1U, 3U, 4U, 15U, 16U, 17U, 63U, 64U, 65U, 129U, 1000U}) {
      for (const std::uint32_t first : {0U, 7U, 0xFFFFFFF0U}) {
        const NoiseStream stream = noise_stream(99 + first, 2);
        const NormalNoise noise(first + 3);
        std::vector<std::uint32_t> bits(count + 1, 0xDEADBEEFU);
        std::vector<float> uniform(count + 1, -7), both(count + 1, -7), normal(count + 1, -7);
        std::vector<std::int16_t> whole(count + 1, -30000);
        kernels::fill_bits(bits.data(), count, stream, first);
        kernels::fill_uniform(uniform.data(), count, stream, first);
        kernels::fill_signed(both.data(), count, stream, first);
        kernels::fill_normal(whole.data(), count, noise, first);
        kernels::fill_normal(normal.data(), count, noise, first, 0.25F);
        for (std::size_t i = 0; i < count; ++i) {
          const std::uint32_t word = noise_bits(stream, first + static_cast<std::uint32_t>(i));
          ASSERT_EQ(bits[i], word) << target;
          ASSERT_EQ(uniform[i], noise_uniform(word)) << target;
          ASSERT_EQ(both[i], noise_signed(word)) << target;
          const int z = noise.at(4 * std::uint64_t{first} + i);
          ASSERT_EQ(whole[i], z) << target << " " << count << " " << first << " at " << i;
          ASSERT_EQ(normal[i], static_cast<float>(z) * 0.25F) << target;
        }
        EXPECT_EQ(bits[count], 0xDEADBEEFU);
        EXPECT_EQ(uniform[count], -7);
        EXPECT_EQ(both[count], -7);
        EXPECT_EQ(normal[count], -7);
        EXPECT_EQ(whole[count], -30000);
      }
    }
  }
}

}  // namespace
}  // namespace sluice::aug::noise_test
