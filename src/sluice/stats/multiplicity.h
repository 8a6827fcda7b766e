// sluice/stats/multiplicity.h - p values when several questions are asked at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

#include <vector>

namespace sluice::stats {

// Both take p values in [0, 1] in any order and return the adjusted ones in the same order; none
// gives none.

/// Holm (1979): rejecting where the adjusted p is at most alpha errs anywhere in the family with
/// probability at most alpha, whatever the dependence. For verdicts that block.
Result<std::vector<double>> holm(Sample p_values);
/// Benjamini and Hochberg (1995): the expected share of false ones among the rejected is at most
/// alpha. For reports.
Result<std::vector<double>> benjamini_hochberg(Sample p_values);

}  // namespace sluice::stats
