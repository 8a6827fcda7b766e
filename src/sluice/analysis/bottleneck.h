// sluice/analysis/bottleneck.h - loader alone, model alone and both together: what limits a
// training step (docs/diagnose.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/conclusions.h"
#include "sluice/stats/sample.h"

namespace sluice::analysis {

using results::Attribution;
using results::Bottleneck;
using results::Finding;
using results::RankTimes;
using results::Sending;
using results::StepTimes;

inline constexpr double kMuchTransfer = 0.10;  // of a step: the copy to the device is worth a word

/// Where no advice is left for a loader that is the limit.
inline constexpr const char* kNothingPromised =
    "no change that was looked at promises 3 % or more; what is left is more or faster cores";

/// `value` without an interval.
stats::Estimate exactly(double value);

/// INPUT: T_L > 1.02 T_M and w > 5 %. COMPUTE: T_M >= T_L, overlap >= 0.9, residual < 5 % of T_E.
/// SYNC, with ranks: T_E(N) - T_E(1) or the skew is 10 % of a step or more. TRANSFER: residual >=
/// 10 % while w <= 5 %, and T_H is half of it or more. INTERFERENCE: the same residual without.
/// Else MIXED; in this order.
Attribution attribute(const StepTimes& times);

Finding finding_of(const Attribution& attribution);

}  // namespace sluice::analysis
