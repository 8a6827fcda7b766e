// sluice/visit/gate/pairs.cpp - two rows of one wave, block by block, each block a pair.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/pairs.h"

#include "sluice/core/folder_guard.h"
#include "sluice/gate/baseline/pairs.h"
#include "sluice/gate/pairs/paired_gate.h"
#include "sluice/gate/pairs/paired_report.h"
#include "sluice/measure/inject.h"
#include "sluice/measure/local_runner.h"
#include "sluice/peers/places.h"
#include "sluice/stats/summary.h"
#include "sluice/visit/training/rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::visit {
namespace {

constexpr int kLongestPairTurn = 5;  // steps in a row before the other's turn

/// The hook is for this program alone: the baseline was measured without it.
measure::SubjectSpec baseline_row(measure::SubjectSpec row, const RunnableProgram& baseline) {
  row.library = "baseline";
  row.command = {baseline.program.string(), "worker"};
  row.environment = baseline.environment;
  row.environment[measure::kInjectVariable] = "0%";
  return row;
}

Result<double> median_step_s(const measure::Row& row) {
  if (row.status == measure::RowStatus::failed)
    return Error{Errc::measurement, fmt::format("{}: {}", row.library, row.reason)};
  const std::vector<std::int64_t>& last = row.runs.back().samples_ns;
  const std::vector<double> steps(last.begin(), last.end());
  SLUICE_TRY(const double middle, stats::median(steps));
  return middle * 1e-9;
}

measure::Policy policy_of(const TrainingPlan& plan) {
  measure::Policy policy = plan.policy;
  policy.stop = measure::StopKind::count;
  policy.samples_per_turn = std::clamp(plan.measure_steps / 4, 1, kLongestPairTurn);
  policy.warmup_ms = policy.warmup_limit_ms = 0.001;  // one step after a stop
  return policy;
}

}  // namespace

bool pairable(const TrainingPlan& plan) {
  return plan.libraries == std::vector<std::string>{"sluice"} && plan.regimes.size() == 1 &&
         plan.rungs.size() == 1 && plan.last_blocks.size() == 1 && plan.batches.size() == 1 &&
         !plan.input;
}

Result<PairsTaken> pair_with_baseline(const Caller& caller, const TrainingPlan& plan,
                                      const RunnableProgram& baseline, double tolerance_pct,
                                      const std::filesystem::path& logs) {
  SLUICE_TRY(const peers::Places places, peers::find_places());
  measure::LocalRunner local;
  SLUICE_TRY(measure::RunnerContext runner, local.context(Progress::silent(), "pairs", logs));
  const TrainingRowMaker maker{plan, {TrainingSource{}}, places.worker()};
  SLUICE_TRY(const TrainingRows made, maker.rows(plan.batches.front(), {}));
  measure::SubjectSpec ours = made.rows.front();
  ours.spec["phase_steps"] = 0;  // the phases are known already
  const std::vector<measure::SubjectSpec> subjects{baseline_row(ours, baseline), ours};

  gate::PairedOptions options;
  options.tau = options.floor = std::min(tolerance_pct / 100, 0.99);
  options.seed = plan.policy.seed;
  measure::Policy policy = policy_of(plan);
  std::vector<measure::Row> rows;
  auto bar = caller.progress->bar("pairs with the program of the baseline",
                                  static_cast<std::uint64_t>(options.looks.back().pairs), "pairs");
  const gate::TakePair take = [&](int index, bool) -> Result<std::vector<gate::PairValue>> {
    policy.runs = index + 1;
    SLUICE_TRY(measure::WaveResult wave,
               measure::run_wave(subjects, policy, runner, std::move(rows)));
    if (wave.interrupted) return Error{Errc::interrupted, "interrupted"};
    rows = std::move(wave.rows);
    SLUICE_TRY(const double a, median_step_s(rows[0]));
    SLUICE_TRY(const double b, median_step_s(rows[1]));
    bar.add(1);
    return std::vector<gate::PairValue>{{a, b}};
  };
  const std::vector<gate::PairedMetric> metrics{
      {.name = gate::kPairedStep, .unit = "s", .better = measure::Better::lower}};
  SLUICE_TRY(const gate::PairedOutcome outcome, gate::run_pairs(metrics, options, take));
  PairsTaken taken{gate::to_json(gate::report_of(outcome)), std::move(rows)};
  taken.report["pairs"] = gate::pairs_json(outcome);
  return taken;
}

}  // namespace sluice::visit
