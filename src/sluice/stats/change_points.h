// sluice/stats/change_points.h - where a series changed its level: E-divisive means.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::stats {

// Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate
// data" (2014), in the form that MongoDB (Daly et al., 2020) and Hunter (Fleming et al., 2023) use
// on benchmark histories: split with a relaxed permutation test, then keep what a strict test
// confirms.

struct ChangePointOptions {
  std::size_t window = 50;  // longest stretch that is searched at once; later ones overlap half
  std::size_t least_length = 3;  // values on either side of a change
  double split_p = 0.05;         // of the permutation test while splitting
  double keep_p = 1e-3;          // of Welch's test between the levels beside a change
  int permutations = 199;
  std::uint64_t seed = 0;
};

struct ChangePoint {
  std::size_t index = 0;  // of the first value after the change
  double before = 0;      // mean of the level before
  double after = 0;
  double p = 1;  // by Welch's test of the two levels
};

/// 2/(mn) Σ|x−y| − Σ|x−x'|/C(m,2) − Σ|y−y'|/C(n,2), times mn/(m+n), for the best split of `values`
/// with at least `least_length` values a side. 0 when there is no such split.
struct EnergySplit {
  std::size_t index = 0;
  double q = 0;
};
EnergySplit best_energy_split(Sample values, std::size_t least_length);

/// In order of index; none in a series too short to split. The same values and seed give the same
/// points. Refuses values that are not finite.
Result<std::vector<ChangePoint>> change_points(Sample values,
                                               const ChangePointOptions& options = {});

}  // namespace sluice::stats
