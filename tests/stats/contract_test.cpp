// tests/stats/contract_test.cpp - odd input gives an error or a defined value, never NaN.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"
#include "sluice/stats/bootstrap.h"
#include "sluice/stats/multiplicity.h"
#include "sluice/stats/power.h"
#include "sluice/stats/rank.h"
#include "sluice/stats/series.h"
#include "sluice/stats/sign_flip.h"
#include "sluice/stats/summary.h"
#include "sluice/stats/t_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace sluice::stats::contract_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kHuge = std::numeric_limits<double>::max();

struct Function {
  const char* name;
  std::size_t minimum;  // values it needs
  // All numbers of the answer; the same sample serves as both sides.
  std::function<Result<std::vector<double>>(Sample)> call;
};

Result<std::vector<double>> list(const Result<double>& value) {
  if (!value) return value.error();
  return std::vector<double>{*value};
}
Result<std::vector<double>> list(const Result<Estimate>& e) {
  if (!e) return e.error();
  return std::vector<double>{e->point, e->low, e->high};
}
Result<std::vector<double>> list(const Result<TTest>& t) {  // t itself may be infinite: certain_p
  if (!t) return t.error();
  return std::vector<double>{t->difference, t->standard_error, t->df,
                             t->p,          t->interval.low,   t->interval.high};
}

const std::vector<Function>& functions() {
  static const Statistic centre = [](Sample x) {
    const auto value = mean(x);
    return value ? *value : kNan;
  };
  static const std::vector<Function> all{
      {"mean", 1, [](Sample x) { return list(mean(x)); }},
      {"variance", 2, [](Sample x) { return list(variance(x)); }},
      {"sd", 2, [](Sample x) { return list(sd(x)); }},
      {"cv", 2, [](Sample x) { return list(cv(x)); }},
      {"median", 1, [](Sample x) { return list(median(x)); }},
      {"p99", 1, [](Sample x) { return list(percentile(x, 99)); }},
      {"mad", 1, [](Sample x) { return list(mad(x)); }},
      {"geometric_mean", 1, [](Sample x) { return list(geometric_mean(x)); }},
      {"geometric_mean_interval", 2, [](Sample x) { return list(geometric_mean_interval(x)); }},
      {"mean_interval", 2, [](Sample x) { return list(mean_interval(x)); }},
      {"one_sample_t", 2, [](Sample x) { return list(one_sample_t(x)); }},
      {"paired_t", 2, [](Sample x) { return list(paired_t(x, x)); }},
      {"welch_t", 2, [](Sample x) { return list(welch_t(x, x)); }},
      {"welch_t_on_logs", 2, [](Sample x) { return list(welch_t_on_logs(x, x)); }},
      {"welch_mde", 2, [](Sample x) { return list(welch_mde(x, x)); }},
      {"hodges_lehmann", 1, [](Sample x) { return list(hodges_lehmann(x)); }},
      {"hodges_lehmann shift", 1, [](Sample x) { return list(hodges_lehmann(x, x)); }},
      {"bootstrap", 2, [](Sample x) { return list(bootstrap(x, centre, {.draws = 100})); }},
      {"moving_block", 2,
       [](Sample x) { return list(moving_block_bootstrap(x, centre, {.draws = 100})); }},
      {"effective_sample_size", 4, [](Sample x) { return list(effective_sample_size(x)); }},
      {"autocorrelation", 2, [](Sample x) { return list(autocorrelation(x, 1)); }},
      {"mann_whitney", 1,
       [](Sample x) -> Result<std::vector<double>> {
         SLUICE_TRY(const auto test, mann_whitney(x, x));
         return std::vector<double>{test.u, test.p};
       }},
      {"sign_flip", 1,
       [](Sample x) -> Result<std::vector<double>> {
         SLUICE_TRY(const auto test, sign_flip(x));
         return std::vector<double>{test.p};
       }},
      {"theil_sen", 2,
       [](Sample y) -> Result<std::vector<double>> {
         std::vector<double> x(y.size());
         for (std::size_t i = 0; i < x.size(); ++i)
           x[i] = static_cast<double>(i);
         SLUICE_TRY(const auto fit, theil_sen(x, y));
         return std::vector<double>{fit.slope.point, fit.slope.low, fit.slope.high, fit.intercept};
       }},
      {"mser5", 10,
       [](Sample x) -> Result<std::vector<double>> {
         SLUICE_TRY(const auto found, mser5(x));
         return std::vector<double>{static_cast<double>(found.discard)};
       }},
  };
  return all;
}

TEST(Contract, TooFewValuesAreAnErrorThatSaysHowMany) {
  const std::vector<double> values(20, 1.0);
  for (const Function& f : functions()) {
    for (std::size_t n = 0; n < f.minimum; ++n) {
      const auto result = f.call(Sample(values).first(n));
      ASSERT_FALSE(result.has_value()) << f.name << " of " << n;
      EXPECT_EQ(result.error().code, Errc::invalid_input);
      EXPECT_THAT(result.error().message, ::testing::HasSubstr("at least")) << f.name;
    }
  }
}

TEST(Contract, EnoughValuesGiveAFiniteAnswer) {
  Rng rng(RngKey{.seed = 1});
  for (const Function& f : functions()) {
    for (std::size_t n = f.minimum; n < 24; ++n) {
      std::vector<double> x(n);
      for (double& value : x)
        value = 1 + rng.uniform();
      const auto result = f.call(x);
      ASSERT_TRUE(result.has_value()) << f.name << ": " << result.error().message;
      for (const double value : *result)
        EXPECT_TRUE(std::isfinite(value)) << f.name << " of " << n;
    }
  }
}

TEST(Contract, ValuesThatAreNoNumbersAreNamed) {
  for (const Function& f : functions()) {
    for (const double poison : {kNan, kInf, -kInf}) {
      std::vector<double> x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
      x[7] = poison;
      const auto result = f.call(x);
      ASSERT_FALSE(result.has_value()) << f.name;
      EXPECT_THAT(result.error().message, ::testing::HasSubstr("value 7")) << f.name;
    }
  }
}

TEST(Contract, ConstantTinyAndHugeValuesNeverGiveNan) {
  const std::vector<std::vector<double>> samples{
      std::vector<double>(12, 0.0),
      std::vector<double>(12, 3.7),
      std::vector<double>(12, 5e-324),
      std::vector<double>(12, kHuge),
      std::vector<double>(12, -kHuge),
      {kHuge, -kHuge, kHuge, -kHuge, 1, 2, 3, 4, 5, 6, 7, 8},
      {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1e-200},
  };
  for (const Function& f : functions()) {
    for (const auto& x : samples) {
      const auto result = f.call(x);
      if (!result) continue;
      for (const double value : *result)
        EXPECT_TRUE(std::isfinite(value)) << f.name << " of " << x[0];
    }
  }
}

TEST(Contract, NoSpreadHasADefinedVerdict) {
  const std::vector<double> a(5, 0.1);
  const std::vector<double> b(7, 0.1);
  const std::vector<double> c(3, 0.2);
  const auto same = welch_t(a, b);
  EXPECT_EQ(same->p, 1.0);
  EXPECT_EQ(same->t, 0.0);
  const auto different = welch_t(a, c);
  EXPECT_EQ(different->p, 0.0);
  EXPECT_EQ(different->t, -kInf);
  EXPECT_EQ(different->interval.low, different->interval.high);
  EXPECT_EQ(welch_t(a, c, {Alternative::less})->p, 0.0);
  EXPECT_EQ(welch_t(a, c, {Alternative::greater})->p, 1.0);
  // Values that should be equal but were computed by different routes differ in the last bit only.
  const std::vector<double> rounded{0.1 + 1e-17, 0.30000000000000004 / 3, 0.1};
  EXPECT_EQ(welch_t(a, rounded)->p, 1.0);
  EXPECT_EQ(one_sample_t(std::vector<double>(4, 0.0))->p, 1.0);
  EXPECT_EQ(one_sample_t(std::vector<double>(4, 2.0))->p, 0.0);
  EXPECT_EQ(mann_whitney(a, b)->p, 1.0);
  EXPECT_EQ(*welch_mde(a, b), 0.0);
  // One side constant, the other not: an ordinary answer.
  const auto one_sided = welch_t(a, std::vector<double>{0.3, 0.2, 0.25});
  EXPECT_NEAR(one_sided->df, 2.0, 1e-12);
}

TEST(Contract, ArgumentsOutOfRangeAreRefused) {
  const std::vector<double> x{1, 2, 3, 4};
  for (const double bad : {0.0, 1.0, -1.0, 2.0, kNan}) {
    EXPECT_FALSE(mean_interval(x, bad).has_value()) << bad;
    EXPECT_FALSE(wilson(1, 2, bad).has_value()) << bad;
    EXPECT_FALSE(theil_sen(x, x, bad).has_value()) << bad;
    EXPECT_FALSE(paired_mde(1, 5, {.alpha = bad}).has_value()) << bad;
    EXPECT_FALSE(needed_pairs(1, 1, {.alpha = 0.05, .power = bad}).has_value()) << bad;
  }
  EXPECT_FALSE(percentile(x, -0.1).has_value());
  EXPECT_FALSE(percentile(x, 100.1).has_value());
  EXPECT_FALSE(percentile(x, kNan).has_value());
  EXPECT_FALSE(paired_t(x, Sample(x).first(3)).has_value());
  EXPECT_FALSE(theil_sen(x, Sample(x).first(3)).has_value());
  EXPECT_FALSE(theil_sen(std::vector<double>(4, 1.0), x).has_value());
  EXPECT_FALSE(autocorrelation(x, 4).has_value());
  EXPECT_FALSE(geometric_mean(std::vector<double>{1, 0}).has_value());
  EXPECT_FALSE(cv(std::vector<double>{-1, 1}).has_value());
  EXPECT_FALSE(wilson(3, 2).has_value());
  EXPECT_FALSE(wilson(0, 0).has_value());
  EXPECT_FALSE(paired_mde(-1, 5).has_value());
  EXPECT_FALSE(paired_mde(1, 1).has_value());
  EXPECT_FALSE(needed_pairs(1, 0).has_value());
  EXPECT_FALSE(needed_pairs(1, 1e-300).has_value());
  EXPECT_FALSE(holm(std::vector<double>{0.5, 1.5}).has_value());
  EXPECT_FALSE(benjamini_hochberg(std::vector<double>{kNan}).has_value());
  EXPECT_TRUE(holm({})->empty());
  const std::vector<double> many(6000, 1.0);
  EXPECT_FALSE(hodges_lehmann(many).has_value());
}

TEST(Contract, AnswersDoNotDependOnOrderOrUnit) {
  Rng rng(RngKey{.seed = 9});
  std::vector<double> a(9);
  std::vector<double> b(6);
  for (double& value : a)
    value = 100 * std::exp(0.02 * rng.normal());
  for (double& value : b)
    value = 97 * std::exp(0.02 * rng.normal());
  const auto before = welch_t_on_logs(a, b);
  rng.shuffle(std::span(a));
  for (double& value : a)
    value *= 1e-9;
  for (double& value : b)
    value *= 1e-9;
  const auto after = welch_t_on_logs(a, b);
  EXPECT_NEAR(before->p, after->p, 1e-9);
  EXPECT_NEAR(before->difference, after->difference, 1e-12);
  const auto swapped = welch_t_on_logs(b, a);
  EXPECT_NEAR(swapped->difference, -after->difference, 1e-15);
  EXPECT_NEAR(swapped->p, after->p, 1e-15);
}

}  // namespace
}  // namespace sluice::stats::contract_test
