// tests/stats/summary_test.cpp - summaries, robust estimators and series against SciPy.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/summary.h"

#include "sluice/stats/rank.h"
#include "sluice/stats/series.h"
#include "sluice/stats/t_test.h"

#include <gtest/gtest.h>

#include "tests/stats/reference.h"

namespace sluice::stats::summary_test {
namespace {

// Scale of the values: what a difference of means may lose to rounding is relative to it, not to
// the difference.
double scale(const std::vector<double>& values) {
  double largest = 1e-300;
  for (const double value : values)
    largest = std::max(largest, std::abs(value));
  return largest;
}

TEST(Summary, MatchesNumPy) {
  for (const Json& c : cases("summary")) {
    const auto x = numbers(c["x"]);
    const double floor = scale(x) * 1e-3;
    expect_near(mean(x), c["mean"], c, 1e-12, floor);
    expect_near(median(x), c["median"], c, 1e-14, floor);
    expect_near(mad(x, MadScale::raw), c["mad_raw"], c, 1e-12, floor);
    expect_near(mad(x), c["mad_normal"], c, 1e-12, floor);
    if (c.contains("variance")) {
      expect_near(variance(x), c["variance"], c, 1e-12, floor * floor);
      expect_near(sd(x), c["sd"], c, 1e-12, floor);
      expect_near(cv(x), c["cv"], c, 1e-9);
    }
    const auto qs = numbers(c["qs"]);
    const auto expected = numbers(c["percentiles"]);
    const auto found = percentiles(x, qs);
    ASSERT_TRUE(found.has_value());
    for (std::size_t i = 0; i < qs.size(); ++i) {
      expect_near((*found)[i], expected[i], c, 1e-13, floor);
      expect_near(percentile(x, qs[i]), expected[i], c, 1e-13, floor);
    }
  }
}

TEST(Summary, GeometricMeanMatchesSciPy) {
  for (const Json& c : cases("summary")) {
    const auto x = numbers(c["x"]);
    if (!c.contains("geometric_mean")) continue;
    expect_near(geometric_mean(x), c["geometric_mean"], c, 1e-12);
    if (!c.contains("geometric_low")) continue;
    const auto interval = geometric_mean_interval(x, 0.9);
    ASSERT_TRUE(interval.has_value()) << interval.error().message;
    expect_near(interval->point, c["geometric_mean"], c, 1e-12);
    expect_near(interval->low, c["geometric_low"], c);
    expect_near(interval->high, c["geometric_high"], c);
    EXPECT_EQ(interval->confidence, 0.9);
  }
}

TEST(Summary, MeanOfEqualValuesIsThatValue) {
  for (std::size_t n = 1; n < 60; ++n) {
    const std::vector<double> x(n, 0.1);
    EXPECT_EQ(*mean(x), 0.1);
    if (n > 1) {
      EXPECT_EQ(*sd(x), 0.0);
    }
  }
}

TEST(Summary, PercentilesAreMonotoneAndInside) {
  for (const Json& c : cases("summary")) {
    const auto x = numbers(c["x"]);
    double before = *percentile(x, 0);
    EXPECT_EQ(before, *std::min_element(x.begin(), x.end()));
    for (int q = 1; q <= 1000; ++q) {
      const double now = *percentile(x, q / 10.0);
      EXPECT_GE(now, before);
      before = now;
    }
    EXPECT_EQ(before, *std::max_element(x.begin(), x.end()));
  }
}

TEST(Rank, HodgesLehmannMatchesDefinition) {
  for (const Json& c : cases("hodges_lehmann")) {
    const auto a = numbers(c["a"]);
    const auto b = numbers(c["b"]);
    expect_near(hodges_lehmann(a), c["one"], c, 1e-12, scale(a));
    expect_near(hodges_lehmann(a, b), c["two"], c, 1e-12, scale(a) + scale(b));
  }
}

TEST(Rank, TheilSenMatchesSciPy) {
  for (const Json& c : cases("theil_sen")) {
    const auto x = numbers(c["x"]);
    const auto y = numbers(c["y"]);
    const auto fit = theil_sen(x, y);
    ASSERT_TRUE(fit.has_value()) << fit.error().message;
    expect_near(fit->slope.point, c["slope"], c, 1e-9, scale(y) * 1e-6);
    expect_near(fit->slope.low, c["low"], c, 1e-9, scale(y) * 1e-6);
    expect_near(fit->slope.high, c["high"], c, 1e-9, scale(y) * 1e-6);
    expect_near(fit->intercept, c["intercept"], c, 1e-9, scale(y) * 1e-3);
  }
}

TEST(Series, EffectiveSampleSizeMatchesDefinition) {
  for (const Json& c : cases("series")) {
    const auto x = numbers(c["x"]);
    expect_near(autocorrelation(x, 0), 1.0, c, 1e-12);
    expect_near(autocorrelation(x, 1), c["rho1"], c, 1e-9, 1e-3);
    expect_near(autocorrelation(x, 3), c["rho3"], c, 1e-9, 1e-3);
    expect_near(effective_sample_size(x), c["ess"], c);
  }
}

TEST(Series, Mser5MatchesDefinition) {
  int trimmed = 0;
  for (const Json& c : cases("warm_up")) {
    const auto found = mser5(numbers(c["x"]));
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_EQ(found->discard, c["discard"].get<std::size_t>()) << c;
    EXPECT_EQ(found->settled, c["settled"].get<bool>()) << c;
    if (found->discard > 0) ++trimmed;
  }
  EXPECT_GT(trimmed, 3);
}

}  // namespace
}  // namespace sluice::stats::summary_test
