// sluice/stats/t_test.cpp - t tests with a defined answer when there is no spread.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/t_test.h"

#include "sluice/stats/distribution.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace sluice::stats {
namespace {

Result<double> p_value(double t, double df, Alternative alternative) {
  switch (alternative) {
    case Alternative::less:
      return student_t_cdf(t, df);
    case Alternative::greater:
      return student_t_sf(t, df);
    case Alternative::two_sided:
      break;
  }
  SLUICE_TRY(const double tail, student_t_sf(std::abs(t), df));
  return std::min(1.0, 2 * tail);
}

double certain_p(double difference, Alternative alternative) {
  if (difference == 0) return 1;
  if (alternative == Alternative::two_sided) return 0;
  return (alternative == Alternative::less) == (difference < 0) ? 0 : 1;
}

// `scale`: the largest magnitude that entered the difference; spread far below its rounding is no
// spread.
Result<TTest> finish(TTest test, double scale, const TTestOptions& options) {
  SLUICE_CHECK(require_fraction(options.confidence, "confidence"));
  SLUICE_CHECK(require_finite(test.difference, "t test"));
  SLUICE_CHECK(require_finite(test.standard_error, "t test"));
  test.interval.confidence = options.confidence;
  const double rounding = 8 * std::numeric_limits<double>::epsilon() * scale;
  if (test.standard_error <= rounding) {
    if (std::abs(test.difference) <= rounding) test.difference = 0;
    test.standard_error = 0;
    test.t = test.difference == 0
                 ? 0
                 : std::copysign(std::numeric_limits<double>::infinity(), test.difference);
    test.p = certain_p(test.difference, options.alternative);
    test.interval.point = test.interval.low = test.interval.high = test.difference;
    return test;
  }
  test.t = test.difference / test.standard_error;
  SLUICE_TRY(test.p, p_value(test.t, test.df, options.alternative));
  SLUICE_TRY(const double quantile, student_t_quantile(0.5 + options.confidence / 2, test.df));
  test.interval.point = test.difference;
  test.interval.low = test.difference - quantile * test.standard_error;
  test.interval.high = test.difference + quantile * test.standard_error;
  return test;
}

double largest_magnitude(Sample values) {
  double largest = 0;
  for (const double value : values)
    largest = std::max(largest, std::abs(value));
  return largest;
}

Result<TTest> one_sample(Sample values, double scale, const TTestOptions& options) {
  TTest test;
  SLUICE_TRY(test.difference, mean(values));
  SLUICE_TRY(const double spread, sd(values));
  const auto n = static_cast<double>(values.size());
  test.standard_error = spread / std::sqrt(n);
  test.df = n - 1;
  return finish(test, scale, options);
}

}  // namespace

Result<TTest> one_sample_t(Sample values, const TTestOptions& options) {
  SLUICE_CHECK(require_sample(values, 2, "t test"));
  return one_sample(values, largest_magnitude(values), options);
}

Result<TTest> paired_t(Sample a, Sample b, const TTestOptions& options) {
  if (a.size() != b.size()) {
    return Error{
        Errc::invalid_input,
        fmt::format("paired t test: {} and {} values given, pairs need as many on both sides",
                    a.size(), b.size())};
  }
  SLUICE_CHECK(require_sample(a, 2, "paired t test"));
  SLUICE_CHECK(require_sample(b, 2, "paired t test"));
  std::vector<double> differences(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    differences[i] = a[i] - b[i];
  SLUICE_CHECK(require_sample(differences, 2, "paired t test"));
  return one_sample(differences, std::max(largest_magnitude(a), largest_magnitude(b)), options);
}

Result<TTest> welch_t(Sample a, Sample b, const TTestOptions& options) {
  SLUICE_CHECK(require_sample(a, 2, "Welch's t test"));
  SLUICE_CHECK(require_sample(b, 2, "Welch's t test"));
  SLUICE_TRY(const double mean_a, mean(a));
  SLUICE_TRY(const double mean_b, mean(b));
  SLUICE_TRY(const double variance_a, variance(a));
  SLUICE_TRY(const double variance_b, variance(b));
  const auto n_a = static_cast<double>(a.size());
  const auto n_b = static_cast<double>(b.size());
  const double total = variance_a / n_a + variance_b / n_b;

  TTest test;
  test.difference = mean_a - mean_b;
  test.standard_error = std::sqrt(total);
  test.df = n_a + n_b - 2;
  if (total > 0) {
    const double share_a = variance_a / n_a / total;  // shares, so that squares cannot underflow
    const double share_b = variance_b / n_b / total;
    test.df = 1 / (share_a * share_a / (n_a - 1) + share_b * share_b / (n_b - 1));
  }
  return finish(test, std::max(largest_magnitude(a), largest_magnitude(b)), options);
}

Result<TTest> welch_t_on_logs(Sample a, Sample b, const TTestOptions& options) {
  SLUICE_TRY(const auto logs_a, logs(a));
  SLUICE_TRY(const auto logs_b, logs(b));
  return welch_t(logs_a, logs_b, options);
}

Result<Estimate> mean_interval(Sample values, double confidence) {
  SLUICE_TRY(const TTest test, one_sample_t(values, {Alternative::two_sided, confidence}));
  return test.interval;
}

Result<Estimate> geometric_mean_interval(Sample ratios, double confidence) {
  SLUICE_TRY(const auto logarithms, logs(ratios));
  SLUICE_TRY(Estimate estimate, mean_interval(logarithms, confidence));
  SLUICE_TRY(estimate.point, require_finite(std::exp(estimate.point), "geometric mean"));
  SLUICE_TRY(estimate.low, require_finite(std::exp(estimate.low), "geometric mean"));
  SLUICE_TRY(estimate.high, require_finite(std::exp(estimate.high), "geometric mean"));
  return estimate;
}

}  // namespace sluice::stats
