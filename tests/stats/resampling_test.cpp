// tests/stats/resampling_test.cpp - bootstrap intervals and Monte-Carlo sign-flips.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"
#include "sluice/stats/bootstrap.h"
#include "sluice/stats/sign_flip.h"
#include "sluice/stats/summary.h"

#include <gtest/gtest.h>

#include "tests/stats/reference.h"

namespace sluice::stats::resampling_test {
namespace {

double mean_of(Sample values) {
  return *mean(values);
}

TEST(Bootstrap, AgreesWithNumPyWithinMonteCarloError) {
  const BootstrapOptions options{.confidence = 0.95, .draws = 20'000, .seed = 7};
  for (const Json& c : cases("bootstrap")) {
    const auto x = numbers(c["x"]);
    EXPECT_EQ(default_block_length(x.size()), c["block"].get<std::size_t>());
    const auto plain = bootstrap(x, mean_of, options);
    const auto moving = moving_block_bootstrap(x, mean_of, options);
    ASSERT_TRUE(plain.has_value() && moving.has_value());
    // A 2.5 % quantile of 20,000 draws has a standard error of about 0.5 % of the width: 4 of them.
    const double slack = 0.02 * (plain->high - plain->low);
    EXPECT_EQ(plain->point, *mean(x));
    EXPECT_NEAR(plain->low, c["mean"][0].get<double>(), slack) << c;
    EXPECT_NEAR(plain->high, c["mean"][1].get<double>(), slack) << c;
    EXPECT_NEAR(moving->low, c["moving_mean"][0].get<double>(), slack) << c;
    EXPECT_NEAR(moving->high, c["moving_mean"][1].get<double>(), slack) << c;
  }
}

TEST(Bootstrap, SeedDecidesEverything) {
  const std::vector<double> x{3, 1, 4, 1, 5, 9, 2, 6};
  const auto once = bootstrap(x, mean_of, {.draws = 200, .seed = 1});
  const auto again = bootstrap(x, mean_of, {.draws = 200, .seed = 1});
  const auto other = bootstrap(x, mean_of, {.draws = 200, .seed = 2});
  EXPECT_EQ(once->low, again->low);
  EXPECT_EQ(once->high, again->high);
  EXPECT_TRUE(once->low != other->low || once->high != other->high);
}

// Blocks keep the dependence: on a strongly autocorrelated series the interval must be wider than
// the naive one.
TEST(Bootstrap, MovingBlocksAreWiderForDependentValues) {
  Rng rng(RngKey{.seed = 3});
  std::vector<double> x(400);
  double level = 0;
  for (double& value : x)
    value = level = 0.9 * level + rng.normal();
  const BootstrapOptions options{.draws = 1000};
  const auto naive = bootstrap(x, mean_of, options);
  const auto moving = moving_block_bootstrap(x, mean_of, options);
  EXPECT_GT(moving->high - moving->low, 1.8 * (naive->high - naive->low));
  const auto whole = moving_block_bootstrap(x, mean_of, options, x.size());
  EXPECT_EQ(whole->low, whole->high);  // one block: every draw is the series itself
}

TEST(Bootstrap, DefaultBlockLength) {
  EXPECT_EQ(default_block_length(0), 1u);
  EXPECT_EQ(default_block_length(1), 1u);
  EXPECT_EQ(default_block_length(8), 3u);
  EXPECT_EQ(default_block_length(1000), 15u);
}

TEST(Bootstrap, RefusesWhatItCannotAnswer) {
  const std::vector<double> x{1, 2, 3};
  EXPECT_FALSE(bootstrap(std::vector<double>{1}, mean_of).has_value());
  EXPECT_FALSE(bootstrap(x, mean_of, {.draws = 99}).has_value());
  EXPECT_FALSE(bootstrap(x, mean_of, {.confidence = 1}).has_value());
  EXPECT_FALSE(moving_block_bootstrap(x, mean_of, {}, 0).has_value());
  EXPECT_FALSE(moving_block_bootstrap(x, mean_of, {}, 4).has_value());
  EXPECT_FALSE(bootstrap(x, [](Sample) { return std::nan(""); }).has_value());
  const auto constant = bootstrap(std::vector<double>(5, 2.0), mean_of);
  ASSERT_TRUE(constant.has_value());
  EXPECT_EQ(constant->low, 2.0);
  EXPECT_EQ(constant->high, 2.0);
}

TEST(SignFlipMonteCarlo, ApproachesTheExactAnswerAndIsSeeded) {
  Rng rng(RngKey{.seed = 11});
  std::vector<double> d(16);
  for (double& value : d)
    value = rng.normal() + 0.4;
  const auto exact = sign_flip(d);
  ASSERT_TRUE(exact->exact);
  d.push_back(0.0);  // adds no information, but is one above the exact limit
  const auto drawn = sign_flip(d, {.draws = 20'000, .seed = 5});
  ASSERT_FALSE(drawn->exact);
  EXPECT_NEAR(drawn->p, exact->p, 4 * std::sqrt(exact->p * (1 - exact->p) / 20'000) + 1e-4);
  EXPECT_EQ(drawn->p, sign_flip(d, {.draws = 20'000, .seed = 5})->p);
  const auto certain = sign_flip(std::vector<double>(40, 1.0), {.draws = 100});
  EXPECT_EQ(certain->p, 1.0 / 101);  // never 0
  EXPECT_FALSE(sign_flip(d, {.draws = 10}).has_value());
}

}  // namespace
}  // namespace sluice::stats::resampling_test
