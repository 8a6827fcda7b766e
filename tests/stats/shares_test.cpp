// tests/stats/shares_test.cpp - chi-square in closed form; shares by hand, by chance and by fault.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/shares.h"

#include "sluice/core/rng.h"
#include "sluice/stats/distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sluice::stats::shares_test {
namespace {

using Counts = std::vector<std::uint64_t>;

TEST(ChiSquareTest, MatchesClosedForms) {
  for (double x = 1e-3; x < 600; x *= 1.7) {
    const double near = 1e-11;
    EXPECT_NEAR(*chi_square_sf(x, 2) / std::exp(-x / 2), 1, near) << x;
    EXPECT_NEAR(*chi_square_sf(x, 4) / (std::exp(-x / 2) * (1 + x / 2)), 1, near) << x;
    EXPECT_NEAR(*chi_square_sf(x, 1) / std::erfc(std::sqrt(x / 2)), 1, 1e-9) << x;
  }
  EXPECT_NEAR(*chi_square_sf(41.337138, 28), 0.05, 1e-7);  // tables of 28 degrees of freedom
  EXPECT_EQ(*chi_square_sf(0, 3), 1);
  EXPECT_EQ(*chi_square_sf(std::numeric_limits<double>::infinity(), 3), 0);
  EXPECT_FALSE(chi_square_sf(1, 0));
  EXPECT_FALSE(chi_square_sf(-1, 2));
  EXPECT_FALSE(chi_square_sf(std::nan(""), 2));
}

TEST(ShareTestTest, ByHand) {
  // Expected 25 25 50: (5^2/25) + (5^2/25) + 0 = 2, one in e.
  const auto test = share_test(Counts{30, 20, 50}, std::vector<double>{1, 1, 2});
  ASSERT_TRUE(test) << test.error().message;
  EXPECT_DOUBLE_EQ(test->chi_square, 2);
  EXPECT_NEAR(test->p, std::exp(-1), 1e-12);
  EXPECT_FALSE(test->simulated);
  EXPECT_NEAR(test->largest, 0.05, 1e-15);
  EXPECT_EQ(test->index, 0U);
}

TEST(ShareTestTest, FewDrawsAreSimulated) {
  // 4 draws of two equal kinds, all of one: 2 of 16 outcomes are as far off.
  const auto test = share_test(Counts{4, 0}, std::vector<double>{0.5, 0.5});
  ASSERT_TRUE(test);
  EXPECT_TRUE(test->simulated);
  EXPECT_NEAR(test->p, 0.125, 0.015);
  EXPECT_EQ(share_test(Counts{4, 0}, std::vector<double>{0.5, 0.5})->p, test->p);  // seeded
}

TEST(ShareTestTest, IsRightAsOftenAsItSays) {
  const std::vector<double> shares(29, 1.0 / 29);
  int rejected = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng({.seed = seed});
    Counts counts(29);
    for (int i = 0; i < 2000; ++i)
      ++counts[rng.below(29)];
    if (share_test(counts, shares)->p < 0.05) ++rejected;
  }
  EXPECT_GE(rejected, 7);  // 20 of 400 are expected, sd 4.4
  EXPECT_LE(rejected, 34);
  Counts drifted(29, 70);
  drifted[3] = 5;
  const auto found = share_test(drifted, shares);
  EXPECT_LT(found->p, 1e-2);
  EXPECT_EQ(found->index, 3U);
  EXPECT_LT(found->largest, 0);
}

TEST(ShareTestTest, Edges) {
  EXPECT_EQ(share_test(Counts{1, 9}, std::vector<double>{0, 1})->p, 0);  // was not asked for
  EXPECT_EQ(share_test(Counts{0, 9}, std::vector<double>{0, 1})->p, 1);
  EXPECT_EQ(share_test(Counts{9}, std::vector<double>{2})->p, 1);
  EXPECT_FALSE(share_test(Counts{}, std::vector<double>{}));
  EXPECT_FALSE(share_test(Counts{1}, std::vector<double>{1, 1}));
  EXPECT_FALSE(share_test(Counts{0, 0}, std::vector<double>{1, 1}));
  EXPECT_FALSE(share_test(Counts{1, 1}, std::vector<double>{0, 0}));
  EXPECT_FALSE(share_test(Counts{1, 1}, std::vector<double>{1, -1}));
  EXPECT_FALSE(share_test(Counts{1, 1}, std::vector<double>{1, std::nan("")}));
}

}  // namespace
}  // namespace sluice::stats::shares_test
