// sluice/stats/rank.h - Hodges-Lehmann, Theil-Sen and Mann-Whitney.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

namespace sluice::stats {

/// Estimators here look at all pairs; above this many pairs they refuse (thin the sample first).
inline constexpr std::size_t kMaxPairs = std::size_t{1} << 24;

/// Median of the Walsh averages (x_i + x_j) / 2, i <= j. At least 1 value.
Result<double> hodges_lehmann(Sample values);
/// Median of a_i - b_j over all pairs: how far a lies above b. At least 1 value a side.
Result<double> hodges_lehmann(Sample a, Sample b);

struct MannWhitney {
  double u = 0;  // pairs in which a is larger; a tie counts one half
  double p = 1;
  bool exact = false;  // by counting; else normal approximation with tie and continuity correction
};
/// Exact without ties and with at most 20 values a side. If all values are equal p is 1. At least 1
/// value a side; with n values a side no one-sided p is below 1 / C(2n, n), so fewer than 5 can
/// never be significant at 1 %.
Result<MannWhitney> mann_whitney(Sample a, Sample b,
                                 Alternative alternative = Alternative::two_sided);

struct TheilSen {
  Estimate slope;        // interval from the distribution of Kendall's tau, as Sen (1968)
  double intercept = 0;  // median(y) - slope median(x)
};
/// Median slope over all pairs with different x. At least 2 values, not all at the same x.
Result<TheilSen> theil_sen(Sample x, Sample y, double confidence = 0.95);

}  // namespace sluice::stats
