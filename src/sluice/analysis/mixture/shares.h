// sluice/analysis/mixture/shares.h - the share of each data set in each measured batch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/results/batch_times.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sluice::analysis {

/// The largest data sets and "other" for the rest: what the drawings of a mixture stack up.
struct MixtureShares {
  std::vector<std::string> names;  // most share first; "other" last, if there is one
  bool has_other = false;
  std::vector<std::vector<double>> series;  // [name][measured batch]; a batch sums to 1
  std::vector<double> mean;                 // of each series
  std::size_t batches = 0;
};

/// Of measured batches that say what they hold. None: an error. top_k at least 1.
Result<MixtureShares> mixture_shares(std::span<const results::BatchTime> batches,
                                     std::size_t top_k);

/// Mean over [i - window / 2, i + window / 2], cut off at the ends.
std::vector<double> rolling_mean(const std::vector<double>& values, std::size_t window);

}  // namespace sluice::analysis
