// tests/stats/distribution_test.cpp - normal and Student t against SciPy and against themselves.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/distribution.h"

#include <gtest/gtest.h>

#include "tests/stats/reference.h"
#include <limits>

namespace sluice::stats::distribution_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Distribution, NormalMatchesSciPy) {
  for (const Json& c : cases("normal")) {
    expect_near(normal_cdf(c["x"]), c["cdf"], c, 1e-12);
    expect_near(normal_sf(c["x"]), c["sf"], c, 1e-12);
  }
  for (const Json& c : cases("normal_quantile")) {
    expect_near(normal_quantile(c["p"]), c["x"], c, 1e-12);
  }
}

TEST(Distribution, StudentMatchesSciPy) {
  for (const Json& c : cases("t")) {
    expect_near(student_t_cdf(c["t"], c["df"]), c["cdf"], c);
    expect_near(student_t_sf(c["t"], c["df"]), c["sf"], c);
    expect_near(student_t_cdf(-c["t"].get<double>(), c["df"]), c["sf"], c);
  }
  for (const Json& c : cases("t_quantile")) {
    expect_near(student_t_quantile(c["p"], c["df"]), c["t"], c);
  }
}

TEST(Distribution, BetaMatchesSciPy) {
  for (const Json& c : cases("beta")) {
    expect_near(incomplete_beta(c["a"], c["b"], c["x"]), c["value"], c);
  }
}

// Closed forms reach where SciPy's own digits run out.
TEST(Distribution, StudentMatchesClosedForms) {
  const double pi = std::acos(-1.0);
  for (double t = 1e-4; t < 1e8; t *= 3.7) {
    expect_near(student_t_sf(t, 1), t < 1 ? 0.5 - std::atan(t) / pi : std::atan(1 / t) / pi, t,
                1e-12);
    const double root = std::sqrt(2 + t * t);
    expect_near(student_t_sf(t, 2), 1 / (root * (root + t)), t, 1e-12);
  }
}

TEST(Distribution, QuantileInvertsProbability) {
  for (const double df : {0.5, 1.0, 2.0, 3.7, 8.0, 40.0, 1e3, 1e6}) {
    for (double p = 0.49; p > 1e-30; p *= 0.31) {
      const auto t = student_t_quantile(p, df);
      ASSERT_TRUE(t.has_value());
      expect_near(student_t_cdf(*t, df), p, Json{df, p}, 1e-9);
      const double upper = 1 - p;  // rounded: its mirror image is 1 - upper, not p
      if (upper < 1) {
        expect_near(student_t_quantile(upper, df), -*student_t_quantile(1 - upper, df), Json{df, p},
                    1e-12);
      }
    }
  }
}

TEST(Distribution, StudentApproachesNormal) {
  for (const double x : {-6.0, -2.0, 0.3, 4.0}) {
    expect_near(student_t_cdf(x, 1e9), *normal_cdf(x), x, 1e-6);
    expect_near(student_t_cdf(x, kInf), *normal_cdf(x), x, 0);
  }
  expect_near(student_t_quantile(0.975, kInf), 1.959963984540054, "z");
}

TEST(Distribution, LimitsAndRefusals) {
  EXPECT_EQ(*normal_cdf(-kInf), 0.0);
  EXPECT_EQ(*normal_cdf(kInf), 1.0);
  EXPECT_EQ(*student_t_cdf(-kInf, 3), 0.0);
  EXPECT_EQ(*student_t_sf(-kInf, 3), 1.0);
  EXPECT_EQ(*student_t_cdf(0, 3), 0.5);
  EXPECT_EQ(*student_t_quantile(0.5, 3), 0.0);
  EXPECT_EQ(*normal_quantile(0.5), 0.0);
  expect_near(student_t_sf(1e200, 1), 1 / (std::acos(-1.0) * 1e200), "far tail");
  for (const double p : {0.0, 1.0, -0.1, 1.1, kNan}) {
    EXPECT_FALSE(normal_quantile(p).has_value()) << p;
    EXPECT_FALSE(student_t_quantile(p, 4).has_value()) << p;
  }
  for (const double df : {0.0, -1.0, kNan}) {
    EXPECT_FALSE(student_t_cdf(1, df).has_value()) << df;
    EXPECT_FALSE(student_t_quantile(0.3, df).has_value()) << df;
  }
  EXPECT_FALSE(normal_cdf(kNan).has_value());
  EXPECT_FALSE(normal_sf(kNan).has_value());
  EXPECT_FALSE(student_t_sf(kNan, 3).has_value());
  EXPECT_FALSE(incomplete_beta(0, 1, 0.5).has_value());
  EXPECT_FALSE(incomplete_beta(1, kInf, 0.5).has_value());
  EXPECT_FALSE(incomplete_beta(1, 1, 1.5).has_value());
}

}  // namespace
}  // namespace sluice::stats::distribution_test
