// sluice/stats/distribution.h - normal, Student t and chi-square: probabilities and quantiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

namespace sluice::stats {

// Relative error at most 1e-9 for probabilities down to 1e-300 and for df from 0.5 to 1e6, also in
// the small tail (ask for the small tail: 1 - cdf is what `*_sf` avoids). NaN, p outside (0, 1) and
// df that is not above 0 are errors; infinities are answered where the limit exists.

Result<double> normal_cdf(double x);
Result<double> normal_sf(double x);        // P(X > x)
Result<double> normal_quantile(double p);  // p in (0, 1)

Result<double> student_t_cdf(double t, double df);
Result<double> student_t_sf(double t, double df);
Result<double> student_t_quantile(double p, double df);

/// P(X > x) of chi-square, by the regularised incomplete gamma function (DLMF 8.11.4 and 8.9.2).
/// x >= 0, df above 0.
Result<double> chi_square_sf(double x, double df);

/// Regularised incomplete beta function I_x(a, b), by its continued fraction (DLMF 8.17.22). a, b >
/// 0, x in [0, 1].
Result<double> incomplete_beta(double a, double b, double x);

}  // namespace sluice::stats
