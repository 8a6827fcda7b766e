// sluice/stats/series.h - values in time order: what they are worth, where warm-up ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

namespace sluice::stats {

/// Autocorrelation at `lag` (divisor n, mean of the whole series). lag < n; a constant series has
/// none: an error.
Result<double> autocorrelation(Sample values, std::size_t lag);

/// n / (1 + 2 sum of autocorrelations), summed over Geyer's initial positive sequence (pairs of
/// neighbouring lags, until a pair is no longer positive). In [1, n]: negative correlation earns no
/// extra. At least 4 values; a constant series has no autocorrelation and is an error.
Result<double> effective_sample_size(Sample values);

struct WarmUp {
  std::size_t discard = 0;  // values at the front, a multiple of 5
  bool settled =
      false;  // false: the best cut lies in the second half, so the series never became steady
};
/// MSER-5 (White, Cobb and Spratt 2000): over means of 5 values, the cut whose remainder knows its
/// own mean best. Looks for it in the whole series but trims at most the first half. At least 10
/// values; up to 4 at the end that fill no batch are left out of the search.
Result<WarmUp> mser5(Sample values);

}  // namespace sluice::stats
