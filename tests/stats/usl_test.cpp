// tests/stats/usl_test.cpp - the scalability law finds the parameters that made the rates.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/usl.h"

#include "sluice/core/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sluice::stats::usl_test {
namespace {

const std::vector<double> kWorkers{1, 2, 4, 8, 16, 32};

std::vector<double> rates_of(const Usl& usl, double noise = 0) {
  Rng rng({.seed = 4});
  std::vector<double> rates;
  for (const double n : kWorkers)
    rates.push_back(usl.at(n) * (1 + noise * rng.normal()));
  return rates;
}

Usl law(double lambda, double sigma, double kappa) {
  Usl usl;
  usl.lambda = lambda;
  usl.sigma = sigma;
  usl.kappa = kappa;
  return usl;
}

TEST(Usl, FindsTheParametersOfExactRates) {
  for (const Usl& truth :
       {law(700, 0.05, 0.002), law(3, 0.3, 0), law(1e6, 0, 0.01), law(50, 0, 0)}) {
    const auto fit = fit_usl(kWorkers, rates_of(truth));
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_NEAR(fit->lambda / truth.lambda, 1, 1e-6);
    EXPECT_NEAR(fit->sigma, truth.sigma, 1e-6);
    EXPECT_NEAR(fit->kappa, truth.kappa, 1e-7);
    EXPECT_LT(fit->error, 1e-6);
  }
}

TEST(Usl, PeaksWhereItsDerivativeIsZero) {
  const auto fit = fit_usl(kWorkers, rates_of(law(700, 0.04, 0.0024)));
  ASSERT_TRUE(fit && fit->peak);
  EXPECT_NEAR(*fit->peak, 20, 0.01);
  EXPECT_GT(fit->at(*fit->peak), fit->at(*fit->peak - 1));
  EXPECT_GT(fit->at(*fit->peak), fit->at(*fit->peak + 1));
  const auto straight = fit_usl(kWorkers, rates_of(law(700, 0.04, 0)));
  ASSERT_TRUE(straight);
  EXPECT_TRUE(!straight->peak || *straight->peak > 1e3);
}

TEST(Usl, SaysHowFarOffItIs) {
  const auto fit = fit_usl(kWorkers, rates_of(law(700, 0.05, 0.002), 0.03));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->lambda, 700, 50);
  EXPECT_GT(fit->error, 0.003);
  EXPECT_LT(fit->error, 0.06);
}

// Better than linear, as with caches that fit at last: no negative contention is made of it.
TEST(Usl, ParametersAreNeverNegative) {
  const std::vector<double> rates{100, 230, 480, 1000, 2100, 4300};
  const auto fit = fit_usl(kWorkers, rates);
  ASSERT_TRUE(fit);
  EXPECT_GE(fit->sigma, 0);
  EXPECT_GE(fit->kappa, 0);
  EXPECT_GT(fit->error, 0.01);
}

TEST(Usl, RefusesWhatItCannotFit) {
  const std::vector<double> two{1, 2, 2}, three{1, 2, 4}, rates{5, 9, 9}, zero{5, 0, 9};
  EXPECT_THAT(fit_usl(two, rates).error().message, ::testing::HasSubstr("2 different"));
  EXPECT_THAT(fit_usl(three, zero).error().message, ::testing::HasSubstr("above 0"));
  EXPECT_FALSE(fit_usl(three, std::vector<double>{1, 2}));
  EXPECT_FALSE(fit_usl(three, std::vector<double>{1, 2, std::nan("")}));
}

}  // namespace
}  // namespace sluice::stats::usl_test
