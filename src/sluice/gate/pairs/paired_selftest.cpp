// sluice/gate/pairs/paired_selftest.cpp - counting trials, whose turn it is, pooled noise.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_selftest.h"

#include "sluice/gate/pairs/paired_report.h"
#include "sluice/stats/power.h"
#include "sluice/stats/summary.h"

#include <algorithm>
#include <cmath>

namespace sluice::gate {

std::vector<SelftestCondition> selftest_conditions(int trials, int power_trials,
                                                   const std::vector<double>& slowdowns) {
  std::vector<SelftestCondition> conditions;
  conditions.push_back({.slowdown = 0, .target = trials});
  for (const double slowdown : slowdowns)
    conditions.push_back({.slowdown = slowdown, .target = power_trials});
  return conditions;
}

std::optional<std::size_t> next_condition(const std::vector<SelftestCondition>& conditions) {
  std::optional<std::size_t> next;
  double least = 1;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (conditions[i].trials >= conditions[i].target) continue;
    const double done = static_cast<double>(conditions[i].trials) / conditions[i].target;
    if (next && done >= least) continue;
    next = i;
    least = done;
  }
  return next;
}

void record(SelftestCondition& condition, const PairedOutcome& outcome) {
  const PairedMetricOutcome& one = outcome.metrics.front();
  ++condition.trials;
  switch (one.status) {
    case GateStatus::fail:
      ++condition.failed;
      break;
    case GateStatus::pass:
      ++condition.passed;
      break;
    case GateStatus::improved:
      ++condition.improved;
      break;
    default:
      ++condition.inconclusive;
  }
  const bool cleared = std::any_of(one.confirmations.begin(), one.confirmations.end(),
                                   [](const Confirmation& alarm) { return !alarm.confirmed; });
  condition.cleared_alarms += cleared ? 1 : 0;
  condition.pairs += outcome.pairs + outcome.confirm_pairs;
  condition.log_change += one.evidence.estimate;
}

double expected_pairs(const SelftestCondition& condition, const PairedOptions& options) {
  const int first = options.looks.front().pairs;
  return condition.slowdown >= options.tau ? first + options.confirm_pairs : first;
}

Result<SelftestNoise> noise_of(const std::vector<SelftestTrial>& trials,
                               const PairedOptions& options) {
  double squares = 0;
  double degrees = 0;
  for (const SelftestTrial& trial : trials) {
    const PairedMetricOutcome& one = trial.outcome.metrics.front();
    const auto ratios = log_ratios(one.a, one.b, one.metric.better);
    SLUICE_TRY(const double variance, stats::variance(ratios));
    const auto df = static_cast<double>(ratios.size() - 1);
    squares += variance * df;
    degrees += df;
  }
  if (degrees <= 0) return Error{Errc::measurement, "selftest: no trial was finished"};
  SelftestNoise noise;
  noise.sd = std::sqrt(squares / degrees);
  SLUICE_TRY(const std::int64_t needed, stats::needed_pairs(noise.sd, -std::log1p(-options.tau),
                                                            {options.alpha, options.power}));
  noise.needed_pairs = std::max<std::int64_t>(needed, fewest_pairs(options.alpha, 1));
  for (const PairedLook& look : options.looks) {
    SLUICE_TRY(
        const double mde,
        stats::paired_mde(noise.sd, look.pairs, {options.alpha * look.alpha_share, options.power}));
    noise.mde.push_back(-std::expm1(-mde));
  }
  return noise;
}

Share failed_share(const SelftestCondition& condition) {
  return {condition.failed, condition.trials};
}

bool cries_wolf(const std::vector<SelftestCondition>& conditions, const PairedOptions& options) {
  for (const SelftestCondition& condition : conditions) {
    if (condition.slowdown > 0) continue;
    const auto share = stats::wilson(condition.failed, condition.trials);
    if (share && share->low > options.alpha) return true;
  }
  return false;
}

Json to_json(const std::vector<SelftestCondition>& conditions) {
  Json list = Json::array();
  for (const SelftestCondition& one : conditions) {
    Json row{{"slowdown", one.slowdown},
             {"trials_asked", one.target},
             {"fail", to_json(failed_share(one))},
             {"pass", one.passed},
             {"improved", one.improved},
             {"inconclusive", one.inconclusive},
             {"cleared_alarms", one.cleared_alarms},
             {"mean_pairs", nullptr},
             {"mean_speed_change", nullptr}};
    if (one.trials > 0) {
      row["mean_pairs"] = static_cast<double>(one.pairs) / one.trials;
      row["mean_speed_change"] = speed_change(one.log_change / one.trials);
    }
    list.push_back(std::move(row));
  }
  return list;
}

Json to_json(const SelftestNoise& noise) {
  return {{"sd_log_ratio", noise.sd},
          {"needed_pairs", noise.needed_pairs},
          {"mde_per_look", noise.mde}};
}

Json to_json(const SelftestTrial& trial, const std::vector<SelftestCondition>& conditions) {
  const PairedMetricOutcome& one = trial.outcome.metrics.front();
  return {{"slowdown", conditions[trial.condition].slowdown},
          {"status", to_string(one.status)},
          {"pairs", trial.outcome.pairs},
          {"confirm_pairs", trial.outcome.confirm_pairs},
          {"seconds", pairs_json(trial.outcome)[one.metric.name]}};
}

}  // namespace sluice::gate
