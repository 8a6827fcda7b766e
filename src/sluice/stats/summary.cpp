// sluice/stats/summary.cpp - centre, spread and percentiles of a sample.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::stats {
namespace {

// 1 / (0.75 quantile of the standard normal distribution).
constexpr double kMadToSd = 1.482602218505602;

// Relative to the first value: equal values leave no rounding behind, so a constant sample has no
// spread.
double shifted_mean(Sample values) {
  double sum = 0;
  for (const double value : values)
    sum += value - values[0];
  return values[0] + sum / static_cast<double>(values.size());
}

double sorted_percentile(const std::vector<double>& sorted, double q) {
  const double position = static_cast<double>(sorted.size() - 1) * (q / 100);
  const double below = std::floor(position);
  const auto i = static_cast<std::size_t>(below);
  if (i + 1 >= sorted.size()) return sorted.back();
  const double t = position - below;
  const double step = sorted[i + 1] - sorted[i];
  // From the nearer end, so that the result never passes the neighbour.
  return t < 0.5 ? sorted[i] + step * t : sorted[i + 1] - step * (1 - t);
}

}  // namespace

Result<double> mean(Sample values) {
  SLUICE_CHECK(require_sample(values, 1, "mean"));
  return require_finite(shifted_mean(values), "mean");
}

Result<double> variance(Sample values) {
  SLUICE_CHECK(require_sample(values, 2, "variance"));
  const double centre = shifted_mean(values);
  double squares = 0;
  double rest = 0;  // sum of the deviations, zero but for the rounding of `centre`
  for (const double value : values) {
    squares += (value - centre) * (value - centre);
    rest += value - centre;
  }
  const auto n = static_cast<double>(values.size());
  return require_finite(std::max(0.0, squares - rest * rest / n) / (n - 1), "variance");
}

Result<double> sd(Sample values) {
  SLUICE_TRY(const double v, variance(values));
  return std::sqrt(v);
}

Result<double> cv(Sample values) {
  SLUICE_TRY(const double spread, sd(values));
  SLUICE_TRY(const double centre, mean(values));
  if (centre == 0) {
    return Error{Errc::invalid_input, "coefficient of variation: the mean is 0, another is needed"};
  }
  return require_finite(spread / std::abs(centre), "coefficient of variation");
}

Result<std::vector<double>> percentiles(Sample values, std::span<const double> qs) {
  SLUICE_CHECK(require_sample(values, 1, "percentile"));
  for (const double q : qs) {
    if (!(q >= 0 && q <= 100)) {
      return Error{Errc::invalid_input,
                   fmt::format("percentile: {} asked for, 0 to 100 accepted", q)};
    }
  }
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> out;
  out.reserve(qs.size());
  for (const double q : qs) {
    SLUICE_TRY(const double value, require_finite(sorted_percentile(sorted, q), "percentile"));
    out.push_back(value);
  }
  return out;
}

Result<double> percentile(Sample values, double q) {
  const std::array<double, 1> qs{q};
  SLUICE_TRY(const auto found, percentiles(values, qs));
  return found[0];
}

Result<double> median(Sample values) {
  return percentile(values, 50);
}

Result<double> mad(Sample values, MadScale scale) {
  SLUICE_TRY(const double centre, median(values));
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values)
    distances.push_back(std::abs(value - centre));
  SLUICE_TRY(const double raw, median(distances));
  return require_finite(scale == MadScale::normal ? raw * kMadToSd : raw, "MAD");
}

Result<std::vector<double>> logs(Sample values) {
  SLUICE_CHECK(require_sample(values, 1, "logarithm"));
  std::vector<double> out;
  out.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] <= 0) {
      return Error{
          Errc::invalid_input,
          fmt::format("logarithm: value {} is {}, only values above 0 have one", i, values[i])};
    }
    out.push_back(std::log(values[i]));
  }
  return out;
}

Result<double> geometric_mean(Sample values) {
  SLUICE_TRY(const auto logarithms, logs(values));
  SLUICE_TRY(const double centre, mean(logarithms));
  return require_finite(std::exp(centre), "geometric mean");
}

}  // namespace sluice::stats
