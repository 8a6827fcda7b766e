// tests/core/rng_test.cpp - published Philox vectors, the frozen key mapping, and the shape of each
// draw.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace sluice::rng_test {
namespace {

using Block = std::array<std::uint32_t, 4>;

TEST(Philox, MatchesTheRandom123Vectors) {  // kat_vectors of Random123, philox4x32 10
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(
      philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
      (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

struct Vector {
  RngKey key;
  std::array<std::uint32_t, 6> words;  // one and a half blocks: the counter is in it
};

// Computed by an independent implementation. Never edit: stored results and generated data depend
// on them.
const std::vector<Vector> kFrozen{
    {{0, 0, 0, 0, 0}, {0x26396fdb, 0x900547c1, 0xc36f70e7, 0x16ea3436, 0xdbc923e7, 0x8a61e7a0}},
    {{1, 0, 0, 0, 0}, {0x1048f1af, 0x7b802ef1, 0xdeb50d64, 0x0b59a23f, 0x6d70ce21, 0x9813d1c7}},
    {{0, 1, 0, 0, 0}, {0x3c8bba4e, 0xd0ffed0b, 0xeac343b8, 0xdce8ba10, 0x67c275e9, 0x3ee0f7a9}},
    {{0, 0, 1, 0, 0}, {0x094fd164, 0x0b18fb49, 0xa9165a7c, 0xf718571a, 0xe8b0d75f, 0xa42ba708}},
    {{0, 0, 0, 1, 0}, {0x4ad5863a, 0x6ed3e92d, 0xde5fc9c6, 0xdfef6942, 0x3c36dce3, 0xd9055521}},
    {{0, 0, 0, 0, 1}, {0x473c9441, 0x91e67068, 0x240e4055, 0x22023bbd, 0xa191bf58, 0xb7e2e6a8}},
    {{0x100000000, 0, 0, 0, 0},
     {0xa7c7ca87, 0x3ed9ae13, 0xaad447a9, 0xef8c961d, 0xaa325384, 0x7931b454}},
    {{0, 0x100000000, 0, 0, 0},
     {0xc7ff2afc, 0xbbedb550, 0xe2c8bd3d, 0xca641df9, 0x04c489c1, 0xb26d83c7}},
    {{0, 0, 0x100000000, 0, 0},
     {0x2fe2e242, 0x9e143f14, 0x0a709aaf, 0xa019091d, 0xa7c36f1c, 0x6bb4c7dd}},
    {{0x0123456789abcdef, 0xfedcba9876543210, 0xdeadbeefcafef00d, 0x89abcdef, 0x76543210},
     {0x46ba05dc, 0xf7236fec, 0x2db23dda, 0x76c99ef4, 0xc58c4d31, 0x988f3563}},
};

TEST(Rng, KeepsTheFrozenMapping) {
  for (const Vector& vector : kFrozen) {
    Rng rng(vector.key);
    for (const std::uint32_t word : vector.words)
      EXPECT_EQ(rng.next_u32(), word);
  }
}

TEST(Rng, EveryFieldOfTheKeyChangesTheStream) {
  std::set<std::uint64_t> firsts;
  for (const Vector& vector : kFrozen)
    firsts.insert(Rng(vector.key).next_u64());
  EXPECT_EQ(firsts.size(), kFrozen.size());
}

TEST(Rng, TheSameKeyRepeatsTheStream) {
  const RngKey key{.seed = 3, .epoch = 1, .index = 4, .repeat = 1, .stage = 5};
  Rng a(key);
  Rng b(key);
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(a.next_u64(), b.next_u64());
}

TEST(Rng, WordsAreTakenLowHalfFirst) {
  Rng rng({.seed = 42});
  EXPECT_EQ(rng.next_u64(), 0x4a4cd606576051acU);
  EXPECT_EQ(rng.next_u64(), 0x6a101d3517bb1bdcU);
  Rng uniform({.seed = 42});
  EXPECT_EQ(uniform.uniform(), 0x1.293358195d814p-2);
  EXPECT_EQ(uniform.uniform(), 0x1.a84074d45eec6p-2);
}

TEST(Rng, BelowIsFrozenAndCoversItsRangeEvenly) {
  Rng frozen({.seed = 42});
  for (const std::uint64_t expected : {6U, 6U, 1U, 4U, 0U, 8U, 9U, 8U}) {
    EXPECT_EQ(frozen.below(10), expected);
  }
  constexpr int kDraws = 60'000;
  std::array<int, 6> counts{};
  Rng rng({.seed = 1});
  for (int i = 0; i < kDraws; ++i)
    ++counts.at(rng.below(counts.size()));
  for (const int count : counts)
    EXPECT_NEAR(count, kDraws / 6, 500);  // 5 standard deviations
  EXPECT_EQ(rng.below(1), 0U);
  const std::uint64_t huge = (std::uint64_t{1} << 63U) + 1;  // nearly half of all draws are refused
  for (int i = 0; i < 100; ++i)
    EXPECT_LT(rng.below(huge), huge);
}

TEST(Rng, UniformStaysInsideItsInterval) {
  Rng rng({.seed = 2});
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.015);
  const double low = 1.0;
  const double high = std::nextafter(low, 2.0);  // rounding would give `high` half of the time
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(rng.uniform(low, high), low);
}

TEST(Rng, NormalHasMeanZeroAndVarianceOne) {
  Rng rng({.seed = 3});
  constexpr int kDraws = 40'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 0.025);
  EXPECT_NEAR(squares / kDraws, 1.0, 0.04);
}

TEST(Rng, ShuffleIsAFrozenPermutation) {
  std::vector<int> items(8);
  std::iota(items.begin(), items.end(), 0);
  Rng({.seed = 7}).shuffle(std::span(items));
  EXPECT_EQ(items, (std::vector{2, 4, 7, 0, 1, 6, 3, 5}));
}

}  // namespace
}  // namespace sluice::rng_test
