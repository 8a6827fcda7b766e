// sluice/analysis/bottleneck.h - loader alone, model alone and both together: what limits a
// training step (docs/diagnose.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/stats/sample.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::analysis {

inline constexpr double kMuchTransfer = 0.10;  // of a step: the copy to the device is worth a word

/// Several processes that train together.
struct RankTimes {
  int ranks = 1;
  double single_ms = 0;  // T_E of one rank alone
  double skew = 1;       // slowest rank's step over the median rank's
};

/// Per batch, in milliseconds. A confidence of 0 says that there is no interval.
struct StepTimes {
  stats::Estimate loader;                   // T_L: nobody else
  stats::Estimate model;                    // T_M: its batch is already there
  stats::Estimate together;                 // T_E
  stats::Estimate wait_share;               // w: of the time together, waiting for a batch
  std::optional<stats::Estimate> transfer;  // T_H: the copy to where the model reads it
  std::optional<double> loader_slowdown;    // under contention: its work per batch, over that alone
  std::optional<double> model_slowdown;
  std::optional<RankTimes> ranks;
};
/// `value` without an interval.
stats::Estimate exactly(double value);

enum class Bottleneck { input, compute, interference, sync, mixed };
const char* to_string(Bottleneck bottleneck);  // INPUT, COMPUTE, ...

struct Attribution {
  StepTimes times;
  double ideal_ms = 0;        // max(T_L, T_M)
  double serial_ms = 0;       // T_L + T_M
  double overlap = 0;         // 1: perfect, 0: none, below: in each other's way
  double residual_ms = 0;     // T_E - ideal: what neither explains
  double residual_share = 0;  // of T_E
  double headspace = 0;       // gain if the loader were free: 1 - T_M / T_E
  double busy_share = 0;      // AU: 1 - w
  Bottleneck verdict = Bottleneck::mixed;
  /// Verdicts of other values within the intervals; empty: the measurement settles it.
  std::vector<Bottleneck> could_also_be;
};

/// INPUT: T_L > 1.02 T_M and w > 5 %. COMPUTE: T_M >= T_L, overlap >= 0.9, residual < 5 % of T_E.
/// SYNC, with ranks: T_E(N) - T_E(1) or the skew is 10 % of a step or more. INTERFERENCE: residual
/// >= 10 % while w <= 5 %. Else MIXED; in this order.
Attribution attribute(const StepTimes& times);

/// What it is, the numbers that say so, what to do.
struct Finding {
  std::string diagnosis;  // "decode is the limit"
  std::string evidence;
  std::vector<std::string> solutions;
};
Finding finding_of(const Attribution& attribution);

Json to_json(const Attribution& attribution);
Json to_json(const Finding& finding);

}  // namespace sluice::analysis
