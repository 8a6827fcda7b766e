// tests/stats/slope_test.cpp - the slope of a series: closed forms, and what its interval covers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/slope.h"

#include "sluice/core/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace sluice::stats::slope_test {
namespace {

std::vector<double> first_numbers(std::size_t n) {
  std::vector<double> x(n);
  std::iota(x.begin(), x.end(), 0.0);
  return x;
}

TEST(SlopeTest, ALineIsItsOwnInterval) {
  const std::vector<double> x = first_numbers(10);
  std::vector<double> y;
  for (const double one : x)
    y.push_back(7 - 0.25 * one);
  const auto found = slope(x, y);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_DOUBLE_EQ(found->point, -0.25);
  EXPECT_DOUBLE_EQ(found->low, -0.25);
  EXPECT_DOUBLE_EQ(found->high, -0.25);
  const auto flat = slope(x, std::vector<double>(10, 1e9 + 0.1));
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->high, 0);
}

TEST(SlopeTest, IndependentResidualsGiveTheOrdinaryInterval) {
  // y = 0 1 0 1 0 1: residuals alternate, so they are worth all n values. By hand: mean x 2.5,
  // Sxx 17.5, Sxy 1.5, Syy 1.5, slope 3/35, squares 1.5 - 1.5^2/17.5, t(4) = 2.7764451.
  const std::vector<double> x = first_numbers(6);
  const std::vector<double> y = {0, 1, 0, 1, 0, 1};
  const auto found = slope(x, y);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_NEAR(found->point, 3.0 / 35, 1e-12);
  const double half = 2.7764451052 * std::sqrt((1.5 - 2.25 / 17.5) / 4 / 17.5);
  EXPECT_NEAR(found->high - found->point, half, 1e-9);
  EXPECT_NEAR(found->point - found->low, half, 1e-9);
}

/// In how many of 400 series of AR(1) noise around a line the interval holds the line's slope.
int covered(double phi, std::size_t n) {
  int hits = 0;
  const std::vector<double> x = first_numbers(n);
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng({.seed = seed});
    double noise = rng.normal() / std::sqrt(1 - phi * phi);
    std::vector<double> y;
    for (const double one : x) {
      noise = phi * noise + rng.normal();
      y.push_back(100 + 0.5 * one + noise);
    }
    const auto found = slope(x, y);
    if (found && found->low <= 0.5 && 0.5 <= found->high) ++hits;
  }
  return hits;
}

TEST(SlopeTest, TheIntervalCoversWhatItSays) {
  EXPECT_GE(covered(0, 200), 368);    // 92 % of 400: 95 % less 2.8 standard errors
  EXPECT_GE(covered(0.9, 500), 352);  // 88 %: what the residuals are worth is itself estimated
}

TEST(SlopeTest, AWanderingSeriesSaysLittle) {
  // The same residuals in an order that follows itself closely, and alternating.
  const std::vector<double> x = first_numbers(1000);
  std::vector<double> smooth;
  std::vector<double> rough;
  for (const double one : x) {
    smooth.push_back(std::sin(one / 40));
    rough.push_back(std::sin(one / 40 + std::fmod(one, 2) * 3.14159265));
  }
  const auto wide = slope(x, smooth);
  const auto narrow = slope(x, rough);
  ASSERT_TRUE(wide && narrow);
  EXPECT_GT(wide->high - wide->low, 4 * (narrow->high - narrow->low));
  EXPECT_LT(wide->low, 0);
  EXPECT_GT(wide->high, 0);
}

TEST(SlopeTest, Refusals) {
  const std::vector<double> x = first_numbers(10);
  EXPECT_FALSE(slope(first_numbers(4), first_numbers(4)));
  EXPECT_FALSE(slope(x, first_numbers(9)));
  EXPECT_FALSE(slope(std::vector<double>(10, 3.0), x));
  EXPECT_FALSE(slope(x, x, 1.0));
  std::vector<double> bad = x;
  bad[3] = std::nan("");
  EXPECT_FALSE(slope(x, bad));
}

}  // namespace
}  // namespace sluice::stats::slope_test
