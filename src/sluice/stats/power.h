// sluice/stats/power.h - shares with intervals, smallest visible effect, sizing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

#include <cstdint>

namespace sluice::stats {

/// Share of successes with Wilson's score interval; 0 of n has an upper end near 3.8 / n, never 0.
/// n > 0.
Result<Estimate> wilson(std::int64_t successes, std::int64_t n, double confidence = 0.95);

/// alpha counts one tail; for a two-sided test at 5 % pass 0.025.
struct PowerOptions {
  double alpha = 0.05;
  double power = 0.8;  // probability that an effect of the returned size is found
};

/// (t_{1-alpha,df} + t_{power,df}) standard_error: the effect a t test finds with probability
/// `power`. Both arguments finite, standard_error >= 0, df > 0; on log values it is a log ratio.
Result<double> minimal_detectable_effect(double standard_error, double df,
                                         const PowerOptions& options = {});
/// For n pairs whose differences have this sd. n >= 2.
Result<double> paired_mde(double sd, std::int64_t n, const PowerOptions& options = {});
/// For two independent samples, degrees of freedom by Welch and Satterthwaite. At least 2 values a
/// side.
Result<double> welch_mde(Sample a, Sample b, const PowerOptions& options = {});

/// Pairs needed to see `effect`: ceil(((z_{1-alpha} + z_power) sd / effect)^2), at least 2. sd >=
/// 0, effect > 0.
Result<std::int64_t> needed_pairs(double sd, double effect, const PowerOptions& options = {});
/// The same for two independent samples of this sd each: values needed on each side.
Result<std::int64_t> needed_per_side(double sd, double effect, const PowerOptions& options = {});

}  // namespace sluice::stats
