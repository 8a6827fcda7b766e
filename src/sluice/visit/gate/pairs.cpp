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
#include "sluice/visit/training/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace sluice::visit {
namespace {

/// A turn is one step, or as many as last this long: others come and go on a machine within tenths
/// of a second, and only what ran beside each other is compared.
constexpr double kTurnS = 0.02;
constexpr int kLongestTurn = 20;  // steps
/// Turns of each in a pair. A process takes some 0.2 s and its warm-up to begin, so fewer waste it,
/// and more gain less than a further pair.
constexpr int kTurns = 24;

/// The hook is for this program alone: the baseline was measured without it.
measure::SubjectSpec baseline_row(measure::SubjectSpec row, const RunnableProgram& baseline) {
  row.library = "baseline";
  row.command = {baseline.program.string(), "worker"};
  row.environment = baseline.environment;
  row.environment[measure::kInjectVariable] = "0%";
  return row;
}

Result<std::span<const std::int64_t>> last_steps(const measure::Row& row) {
  if (row.status == measure::RowStatus::failed)
    return Error{Errc::measurement, fmt::format("{}: {}", row.library, row.reason)};
  return std::span<const std::int64_t>(row.runs.back().samples_ns);
}

measure::Policy policy_of(const TrainingPlan& plan, double step_s) {
  measure::Policy policy = plan.policy;
  policy.stop = measure::StopKind::count;
  const double steps = step_s > 0 ? std::ceil(kTurnS / step_s) : 1;
  policy.samples_per_turn = static_cast<int>(std::clamp(steps, 1.0, double{kLongestTurn}));
  policy.samples_per_run = std::min(kTurns, 2 * plan.measure_steps) * policy.samples_per_turn;
  // One step after a stop, where steps are so short that the caches it left count.
  policy.warmup_ms = policy.warmup_limit_ms = policy.samples_per_turn > 1 ? 0.001 : 0;
  return policy;
}

}  // namespace

bool pairable(const TrainingPlan& plan) {
  return plan.libraries == std::vector<std::string>{"sluice"} && plan.regimes.size() == 1 &&
         plan.rungs.size() == 1 && plan.last_blocks.size() == 1 && plan.batches.size() == 1 &&
         !plan.input;
}

Result<PairsTaken> pair_with_baseline(const Caller& caller, const TrainingPlan& plan,
                                      const RunnableProgram& baseline, const PairsAsked& asked,
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
  options.tau = options.floor = std::min(asked.tolerance_pct / 100, 0.99);
  options.seed = plan.policy.seed;
  measure::Policy policy = policy_of(plan, asked.step_s);
  std::vector<measure::Row> rows;
  auto bar = caller.progress->bar("pairs with the program of the baseline",
                                  static_cast<std::uint64_t>(options.looks.back().pairs), "pairs");
  const gate::TakePair take = [&](int index, bool) -> Result<std::vector<gate::PairValue>> {
    policy.runs = index + 1;
    SLUICE_TRY(measure::WaveResult wave,
               measure::run_wave(subjects, policy, runner, std::move(rows)));
    if (wave.interrupted) return Error{Errc::interrupted, "interrupted"};
    rows = std::move(wave.rows);
    SLUICE_TRY(const auto a, last_steps(rows[0]));
    SLUICE_TRY(const auto b, last_steps(rows[1]));
    SLUICE_TRY(const gate::PairValue value, gate::value_of_rounds(a, b, policy.samples_per_turn));
    bar.add(1);
    return std::vector<gate::PairValue>{value};
  };
  const std::vector<gate::PairedMetric> metrics{
      {.name = gate::kPairedStep, .unit = "s", .better = measure::Better::lower}};
  SLUICE_TRY(const gate::PairedOutcome outcome, gate::run_pairs(metrics, options, take));
  PairsTaken taken{gate::to_json(gate::report_of(outcome)), std::move(rows)};
  taken.report["pairs"] = gate::pairs_json(outcome);
  taken.report[gate::kStepsPerTurn] = policy.samples_per_turn;
  return taken;
}

}  // namespace sluice::visit
