// sluice/stats/summary.h - one number for a sample: centre, spread, percentiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

#include <vector>

namespace sluice::stats {

// Every function refuses an empty sample and values that are not finite.

/// Exact for equal values (their mean is that value, to the last bit), whatever their number.
Result<double> mean(Sample values);
/// Sample variance, divisor n - 1, in two passes. At least 2 values.
Result<double> variance(Sample values);
/// Square root of the variance.
Result<double> sd(Sample values);
/// sd / |mean|. At least 2 values; a mean of zero has no coefficient of variation.
Result<double> cv(Sample values);

/// Linear interpolation between order statistics at position (n - 1) q / 100, as NumPy's default. q
/// in [0, 100].
Result<double> percentile(Sample values, double q);
/// Several percentiles for one sort, in the order asked for.
Result<std::vector<double>> percentiles(Sample values, std::span<const double> qs);
Result<double> median(Sample values);

enum class MadScale {
  raw,     // the median of |x - median|
  normal,  // times 1.4826: estimates the sd of a normal sample, whatever its outliers
};
Result<double> mad(Sample values, MadScale scale = MadScale::normal);

/// exp(mean(log x)). All values above zero.
Result<double> geometric_mean(Sample values);
/// Natural logarithms. All values above zero; the error names the first that is not.
Result<std::vector<double>> logs(Sample values);

}  // namespace sluice::stats
