// sluice/analysis/training_verdict.h - is a training step fast enough, and what to try: rules over
// its metrics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/loader_verdict.h"
#include "sluice/analysis/training_metrics.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::analysis {

/// Forward and backward above 100 samples/s, GPU use above 85 %, mixed precision 1.5 times as fast
/// with half the memory.
std::vector<Check> training_targets(const TrainingFacts& facts,
                                    const std::optional<AmpComparison>& amp);
/// Even step times, phases that add up to the step, GPU use above 85 %, a clock near its highest; a
/// rate that lasts, memory that does not grow, few allocations, and cores that suffice.
std::vector<Check> training_indicators(const TrainingFacts& facts);

/// What the run was asked for, as far as advice depends on it.
struct TrainingSetting {
  bool cuda = false;
  bool loads = false;  // batches come from a loader
};
/// Advice, one sentence each, with the figure that asks for it; never empty.
std::vector<std::string> training_recommendations(const TrainingFacts& facts,
                                                  const TrainingSetting& setting);

}  // namespace sluice::analysis
