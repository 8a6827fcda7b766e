// sluice/stats/slope.cpp - the least squares line and what its residuals are worth.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/slope.h"

#include "sluice/stats/distribution.h"
#include "sluice/stats/series.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace sluice::stats {

Result<Estimate> slope(Sample x, Sample y, double confidence) {
  SLUICE_CHECK(require_sample(x, 5, "slope"));
  SLUICE_CHECK(require_sample(y, 5, "slope"));
  SLUICE_CHECK(require_fraction(confidence, "confidence"));
  if (x.size() != y.size()) {
    return Error{Errc::invalid_input, fmt::format("slope: {} values of x and {} of y, as many of "
                                                  "both are needed",
                                                  x.size(), y.size())};
  }
  SLUICE_TRY(const double mean_x, mean(x));
  SLUICE_TRY(const double mean_y, mean(y));
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (!(xx > 0)) return Error{Errc::invalid_input, "slope: all x are equal"};
  SLUICE_TRY(const double rise, require_finite(xy / xx, "slope"));

  std::vector<double> residuals;
  double squares = 0;
  double scale = std::fabs(mean_y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    residuals.push_back(y[i] - mean_y - rise * (x[i] - mean_x));
    squares += residuals.back() * residuals.back();
    scale = std::max(scale, std::fabs(y[i]));
  }
  SLUICE_CHECK(require_finite(squares, "slope"));
  const auto n = static_cast<double>(x.size());
  const double rounding = 8 * std::numeric_limits<double>::epsilon() * scale;
  if (squares <= n * rounding * rounding) return Estimate{rise, rise, rise, confidence};
  SLUICE_TRY(const double worth, effective_sample_size(residuals));
  if (worth <= 3) {
    return Error{Errc::measurement,
                 fmt::format("slope: {} values that follow each other so closely are worth {:.1f}, "
                             "more than 3 are needed",
                             x.size(), worth)};
  }
  SLUICE_TRY(const double t, student_t_quantile(0.5 + confidence / 2, worth - 2));
  SLUICE_TRY(const double half, require_finite(t * std::sqrt(squares / (worth - 2) / xx), "slope"));
  return Estimate{rise, rise - half, rise + half, confidence};
}

}  // namespace sluice::stats
