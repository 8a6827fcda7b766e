// sluice/visit/gate/run.h - one visit of `sluice gate`: env, bench, eval, profile, compare, and
// what they leave in the run folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/eval/eval.h"
#include "sluice/gate/decide.h"
#include "sluice/visit/caller.h"
#include "sluice/visit/training/run.h"
#include "sluice/visit/watch/run.h"

#include <filesystem>
#include <optional>

namespace sluice::visit {

struct GateModes {
  bool env = true, bench = true, eval = true, profile = false, compare = true;
  /// Anything that needs a new run folder.
  [[nodiscard]] bool measures() const { return env || bench || eval || profile; }
};

struct GatePlan {
  GateModes modes;
  TrainingPlan training;           // its `profile` is for the pass of its own
  std::optional<WatchPlan> watch;  // a program of the user's, measured instead of `training`
  eval::EvalConfig eval;
  gate::GateRule rule = gate::GateRule::pairs;
  gate::Tolerances tolerances;
  gate::FenceMode fence = gate::FenceMode::fail;
  std::filesystem::path baseline_dir = gate::kBaselineDir;
  std::string baseline_ref;       // revision whose baselines count; empty: those that lie here
  std::filesystem::path current;  // of a comparison alone: the run folder that is judged
  bool pairs = true;              // run the baseline's program beside this one, if it is kept
  bool confirm = true;            // without pairs: measure once more before a slow run fails
};

struct GateOutcome {
  std::optional<results::ResultFile> file;  // of the benchmark
  std::optional<results::TrainingMetrics> metrics;
  std::optional<Json> eval;
  std::optional<gate::GateReport> report;  // absent: nothing was compared
  Json summary;                            // run_summary.json
  std::filesystem::path folder;            // empty: nothing was written
  bool failed_rows = false;
};

/// Writes env.json, metrics.json, pairs.json, eval.json, profile/, gate_report.txt, verdict.json
/// and run_summary.json, each by its mode. A comparison alone writes its report into --out, if
/// given.
Result<GateOutcome> run_gate(const Caller& caller, const GatePlan& plan);

}  // namespace sluice::visit
