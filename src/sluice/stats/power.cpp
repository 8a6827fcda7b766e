// sluice/stats/power.cpp - Wilson interval, minimal detectable effect and sizing.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/power.h"

#include "sluice/stats/distribution.h"
#include "sluice/stats/t_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::stats {
namespace {

Status require_options(const PowerOptions& options) {
  SLUICE_CHECK(require_fraction(options.alpha, "alpha"));
  return require_fraction(options.power, "power");
}

Result<double> normal_sum(const PowerOptions& options) {
  SLUICE_CHECK(require_options(options));
  SLUICE_TRY(const double critical, normal_quantile(1 - options.alpha));
  SLUICE_TRY(const double reserve, normal_quantile(options.power));
  return critical + reserve;
}

Result<std::int64_t> sized(double factor, double sd, double effect, const PowerOptions& options) {
  SLUICE_TRY(const double z, normal_sum(options));
  if (!(sd >= 0) || !(effect > 0) || !std::isfinite(sd) || !std::isfinite(effect)) {
    return Error{
        Errc::invalid_input,
        fmt::format("sample size: sd {} and effect {} given, sd >= 0 and effect > 0 accepted", sd,
                    effect)};
  }
  const double root = z * sd / effect;
  const double n = std::ceil(factor * root * root);
  if (!(n < 9e18)) {
    return Error{Errc::invalid_input,
                 fmt::format("sample size: an effect of {} cannot be seen at sd {}", effect, sd)};
  }
  return std::max<std::int64_t>(2, static_cast<std::int64_t>(n));
}

}  // namespace

Result<Estimate> wilson(std::int64_t successes, std::int64_t n, double confidence) {
  SLUICE_CHECK(require_fraction(confidence, "confidence"));
  if (n <= 0 || successes < 0 || successes > n) {
    return Error{
        Errc::invalid_input,
        fmt::format("Wilson interval: {} of {} given, 0 <= successes <= n and n > 0 accepted",
                    successes, n)};
  }
  SLUICE_TRY(const double z, normal_quantile(0.5 + confidence / 2));
  const auto count = static_cast<double>(n);
  const double share = static_cast<double>(successes) / count;
  const double weight = z * z / count;
  const double centre = (share + weight / 2) / (1 + weight);
  const double half =
      z / (1 + weight) * std::sqrt(share * (1 - share) / count + weight / (4 * count));
  return Estimate{share, successes == 0 ? 0 : std::max(0.0, centre - half),
                  successes == n ? 1 : std::min(1.0, centre + half), confidence};
}

Result<double> minimal_detectable_effect(double standard_error, double df,
                                         const PowerOptions& options) {
  SLUICE_CHECK(require_options(options));
  if (!(standard_error >= 0) || !std::isfinite(standard_error)) {
    return Error{Errc::invalid_input, fmt::format("minimal detectable effect: standard error {} "
                                                  "given, a finite one of at least 0 accepted",
                                                  standard_error)};
  }
  SLUICE_TRY(const double critical, student_t_quantile(1 - options.alpha, df));
  SLUICE_TRY(const double reserve, student_t_quantile(options.power, df));
  return require_finite((critical + reserve) * standard_error, "minimal detectable effect");
}

Result<double> paired_mde(double sd, std::int64_t n, const PowerOptions& options) {
  if (n < 2) {
    return Error{Errc::invalid_input,
                 fmt::format("minimal detectable effect: {} pairs given, at least 2 needed", n)};
  }
  const auto count = static_cast<double>(n);
  return minimal_detectable_effect(sd / std::sqrt(count), count - 1, options);
}

Result<double> welch_mde(Sample a, Sample b, const PowerOptions& options) {
  SLUICE_TRY(const TTest test, welch_t(a, b));
  return minimal_detectable_effect(test.standard_error, test.df, options);
}

Result<std::int64_t> needed_pairs(double sd, double effect, const PowerOptions& options) {
  return sized(1, sd, effect, options);
}

Result<std::int64_t> needed_per_side(double sd, double effect, const PowerOptions& options) {
  return sized(2, sd, effect, options);
}

}  // namespace sluice::stats
