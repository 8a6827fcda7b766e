// sluice/visit/gate/pairs.h - the baseline's own program and this one in pairs: a slower machine
// slows both.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/visit/caller.h"
#include "sluice/visit/gate/kept_program.h"
#include "sluice/visit/training/plan.h"

#include <filesystem>

namespace sluice::visit {

/// One row of our engine, fed by itself: what pairs can be made of.
bool pairable(const TrainingPlan& plan);

struct PairsAsked {
  double tolerance_pct = 5;  // both the drop that PASS rules out and the least that FAILs
  double step_s = 0;         // about as long as a step takes; 0: not known
};

struct PairsTaken {
  Json report;                     // its one line as gate/baseline/pairs.h reads it
  std::vector<measure::Row> rows;  // the baseline's and ours, a run of each per pair
};
/// Both train the same steps in fresh processes, a step (or 20 ms of them) in turn while the other
/// is stopped. A pair is gate::value_of_rounds(), judged at 8, 16 and 32 pairs by the rule of
/// `sluice ab`. Errc::measurement: one of them could not be run, as a program that is too old for
/// the plan.
Result<PairsTaken> pair_with_baseline(const Caller& caller, const TrainingPlan& plan,
                                      const RunnableProgram& baseline, const PairsAsked& asked,
                                      const std::filesystem::path& logs);

}  // namespace sluice::visit
