// tests/stats/tests_test.cpp - tests of significance, multiplicity and power against SciPy.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/multiplicity.h"
#include "sluice/stats/power.h"
#include "sluice/stats/rank.h"
#include "sluice/stats/sign_flip.h"
#include "sluice/stats/summary.h"
#include "sluice/stats/t_test.h"

#include <gtest/gtest.h>

#include "tests/stats/reference.h"

namespace sluice::stats::tests_test {
namespace {

TEST(TTests, OneSampleAndPairedMatchSciPy) {
  for (const Json& c : cases("t_tests")) {
    const auto a = numbers(c["a"]);
    const auto b = numbers(c["b"]);
    for (const std::string& name : kAlternatives) {
      const TTestOptions options{alternative(name), 0.95};
      const auto one = one_sample_t(a, options);
      const auto paired = paired_t(a, b, options);
      ASSERT_TRUE(one.has_value() && paired.has_value()) << c;
      expect_near(one->t, c[name]["one_t"], c);
      expect_near(one->p, c[name]["one_p"], c);
      expect_near(paired->t, c[name]["paired_t"], c);
      expect_near(paired->p, c[name]["paired_p"], c);
      const double floor = std::abs(paired->difference);
      expect_near(paired->interval.low, c["paired_low"], c, 1e-9, floor);
      expect_near(paired->interval.high, c["paired_high"], c, 1e-9, floor);
    }
  }
}

TEST(TTests, WelchMatchesSciPy) {
  for (const Json& c : cases("welch")) {
    const auto a = numbers(c["a"]);
    const auto b = numbers(c["b"]);
    for (const std::string& name : kAlternatives) {
      const auto test = welch_t(a, b, {alternative(name), 0.95});
      ASSERT_TRUE(test.has_value()) << c;
      expect_near(test->t, c[name]["t"], c);
      expect_near(test->p, c[name]["p"], c);
      expect_near(test->df, c["df"], c);
      expect_near(test->interval.low, c["low"], c, 1e-9, std::abs(test->difference));
      expect_near(test->interval.high, c["high"], c, 1e-9, std::abs(test->difference));
    }
    expect_near(welch_mde(a, b, {.alpha = 0.025, .power = 0.8}), c["mde"], c);
    if (!c.contains("logs")) continue;
    const auto test = welch_t_on_logs(a, b);
    ASSERT_TRUE(test.has_value()) << c;
    expect_near(test->t, c["logs"]["t"], c, 1e-8);
    expect_near(test->p, c["logs"]["p"], c, 1e-8);
    expect_near(std::exp(test->difference), *geometric_mean(a) / *geometric_mean(b), c);
  }
}

TEST(MannWhitneyTest, MatchesSciPy) {
  int exact = 0;
  for (const Json& c : cases("mann_whitney")) {
    for (const std::string& name : kAlternatives) {
      const auto test = mann_whitney(numbers(c["a"]), numbers(c["b"]), alternative(name));
      ASSERT_TRUE(test.has_value()) << c;
      EXPECT_EQ(test->exact, c["exact"].get<bool>()) << c;
      EXPECT_EQ(test->u, c[name]["u"].get<double>()) << c;
      expect_near(test->p, c[name]["p"], c);
    }
    if (c["exact"].get<bool>()) ++exact;
  }
  EXPECT_GT(exact, 10);
}

TEST(SignFlipTest, MatchesSciPy) {
  for (const Json& c : cases("sign_flip")) {
    for (const std::string& name : kAlternatives) {
      const auto test = sign_flip(numbers(c["d"]), {.alternative = alternative(name)});
      ASSERT_TRUE(test.has_value()) << c;
      EXPECT_TRUE(test->exact);
      expect_near(test->p, c[name], c, 1e-12);
    }
  }
}

TEST(Multiplicity, MatchesDefinitions) {
  for (const Json& c : cases("multiplicity")) {
    const auto p = numbers(c["p"]);
    const auto by_holm = holm(p);
    const auto by_bh = benjamini_hochberg(p);
    ASSERT_TRUE(by_holm.has_value() && by_bh.has_value());
    ASSERT_EQ(by_holm->size(), p.size());
    ASSERT_EQ(by_bh->size(), p.size());
    for (std::size_t i = 0; i < p.size(); ++i) {
      expect_near((*by_holm)[i], c["holm"][i], c, 1e-12);
      expect_near((*by_bh)[i], c["benjamini_hochberg"][i], c, 1e-12);
      EXPECT_LE((*by_bh)[i], (*by_holm)[i] * (1 + 1e-12));
    }
  }
}

TEST(Power, MatchesFormulas) {
  for (const Json& c : cases("power")) {
    const PowerOptions options{.alpha = c["alpha"], .power = c["power"]};
    expect_near(paired_mde(c["sd"], c["n"], options), c["mde"], c);
    const auto pairs = needed_pairs(c["sd"], c["effect"], options);
    const auto per_side = needed_per_side(c["sd"], c["effect"], options);
    ASSERT_TRUE(pairs.has_value() && per_side.has_value());
    EXPECT_EQ(*pairs, c["pairs"].get<std::int64_t>()) << c;
    EXPECT_EQ(*per_side, c["per_side"].get<std::int64_t>()) << c;
  }
}

TEST(Power, WilsonMatchesSciPy) {
  for (const Json& c : cases("wilson")) {
    const auto interval = wilson(c["k"], c["n"]);
    ASSERT_TRUE(interval.has_value());
    expect_near(interval->low, c["low"], c, 1e-9, 1e-9);
    expect_near(interval->high, c["high"], c);
  }
}

}  // namespace
}  // namespace sluice::stats::tests_test
