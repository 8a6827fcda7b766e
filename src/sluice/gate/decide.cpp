// sluice/gate/decide.cpp - lines of every pass, weighed in one place.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/decide.h"

#include "sluice/gate/baseline/compare.h"
#include "sluice/gate/baseline/fence.h"
#include "sluice/gate/baseline/machine_cause.h"
#include "sluice/gate/baseline/pairs.h"
#include "sluice/gate/baseline/usual_step.h"
#include "sluice/gate/compare/training_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sluice::gate {
namespace {

bool passes(const std::optional<GateLine>& line) {
  return line && (line->status == GateStatus::pass || line->status == GateStatus::improved);
}

/// What stands beside the lines that compare stored numbers.
struct Beside {
  std::optional<GateLine> usual, pairs;
  MachineFacts machine;

  [[nodiscard]] bool pairs_decided() const {
    return passes(pairs) || (pairs && pairs->status == GateStatus::fail);
  }
};

void weigh_usual_step(GateLine& line, const Beside& beside) {
  if (line.kind != LineKind::best_run || !passes(beside.usual)) return;
  line.status = GateStatus::warn;
  line.reason +=
      fmt::format(", but the usual step changed by {:+.1f} %: the best run of one side was lucky",
                  *beside.usual->delta);
}

void weigh_pairs(GateLine& line, const Beside& beside) {
  if (!beside.pairs || !line.is_stored_speed()) return;
  const GateLine& pairs = *beside.pairs;
  if (passes(beside.pairs)) {
    line.status = GateStatus::skip;
    line.reason += fmt::format(
        "; run in turns with the baseline's program, the step changed by {:+.1f} %: the machine "
        "was slower",
        pairs.delta.value_or(0));
    return;
  }
  const Json low = at_pointer(pairs.details, "/speed_change/low");
  const Json high = at_pointer(pairs.details, "/speed_change/high");
  if (pairs.status != GateStatus::inconclusive || !low.is_number() || !high.is_number()) return;
  const double times = 1 + line.delta.value_or(0) / 100;
  const double speed_change = (line.better == measure::Better::higher ? times : 1 / times) - 1;
  if (speed_change >= low.get<double>()) return;
  line.status = GateStatus::invalid;
  line.reason += fmt::format(
      "; run in turns with the baseline's program, the speed changed by {:+.1f} to {:+.1f} %: the "
      "machine was slower",
      100 * low.get<double>(), 100 * high.get<double>());
}

void weigh_machine(GateLine& line, const Beside& beside) {
  if (beside.pairs && beside.pairs->status == GateStatus::fail) return;
  const auto cause = machine_cause(line, beside.machine);
  if (!cause) return;
  if (cause->explains) line.status = GateStatus::invalid;
  line.reason += "; " + cause->text;
}

void weigh(GateLine& line, const Beside& beside) {
  for (const auto rule : {weigh_pairs, weigh_usual_step, weigh_machine})
    if (line.is_speed() && line.status == GateStatus::fail) rule(line, beside);
}

/// Visits whose step computed the same; one that does not tell did what was done then.
void keep_same_work(std::vector<Visit>& history, const results::TrainingMetrics& now) {
  const std::string wanted = last_block_of(now), untold = earlier_last_block_of(now);
  if (wanted.empty()) return;
  std::erase_if(history, [&](const Visit& visit) {
    return (visit.last_block.empty() ? untold : visit.last_block) != wanted;
  });
}

/// Only of the throughput: the step time is the same thing upside down, and two lines would cry
/// wolf twice.
GateLine fence_of(const Evidence& evidence, FenceMode mode) {
  const JudgedRate rate =
      evidence.current.metrics ? judged_rate(*evidence.current.metrics) : JudgedRate{};
  std::vector<Visit> history = evidence.baseline.history;
  if (evidence.current.metrics) keep_same_work(history, *evidence.current.metrics);
  for (Visit& visit : history)  // stored when only tokens were: as many as samples in such a run
    if (const auto tokens = visit.figures.find(JudgedRate{}.metric); tokens != visit.figures.end())
      visit.figures.emplace(rate.metric, tokens->second);
  GateLine line = fence_line(history, visit_of(evidence.current), rate.metric, -1);
  line.unit = rate.unit;
  line.blocking = mode == FenceMode::fail;
  if (!line.blocking && line.status == GateStatus::fail) line.status = GateStatus::warn;
  return line;
}

void add_speed(GateReport& report, const Evidence& evidence, const GatePolicy& policy) {
  const RunFiles& current = evidence.current;
  const RunFiles& baseline = evidence.baseline.files;
  if (policy.fence != FenceMode::off) report.lines.push_back(fence_of(evidence, policy.fence));
  const Beside beside{usual_step_line(current, baseline, policy.tolerances.step_time_increase_pct),
                      pairs_line(current, baseline), machine_facts(current, baseline)};
  if (beside.usual) report.lines.push_back(*beside.usual);
  for (GateLine& line : report.lines)
    weigh(line, beside);
  if (beside.pairs) {
    report.lines.push_back(*beside.pairs);
    if (beside.pairs->status == GateStatus::inconclusive)
      report.lines.back().status = GateStatus::skip;  // stored numbers decide
  }
  if (const auto note = noise_line(beside.machine)) report.lines.push_back(*note);
  const auto waited = baseline_waited_line(beside.machine);
  if (waited && !beside.pairs_decided()) report.lines.push_back(*waited);
}

bool is_slow(const GateReport& report) {
  return std::ranges::any_of(report.lines, [](const GateLine& line) {
    return line.is_speed() && line.delta &&
           (line.status == GateStatus::fail || line.status == GateStatus::invalid);
  });
}

WantedEvidence wanted(const Evidence& evidence, const GatePolicy& policy,
                      const GateReport& report) {
  const bool paired = pairs_line(evidence.current, evidence.baseline.files).has_value();
  if (paired) return WantedEvidence::nothing;
  if (policy.may_pair && !program_of(evidence.baseline.files).empty()) return WantedEvidence::pairs;
  const bool confirmed = evidence.current.metrics->confirmation.has_value();
  if (policy.may_confirm && !confirmed && is_slow(report)) return WantedEvidence::second_run;
  return WantedEvidence::nothing;
}

}  // namespace

Decision decide(const Evidence& evidence, const GatePolicy& policy) {
  Decision decision;
  GateReport& report = decision.report;
  report = compare_with_baseline(evidence.current, evidence.baseline.files, policy.tolerances,
                                 policy.scope);
  if (policy.rule == GateRule::seed) {
    report.rule = "stored numbers alone";
    return decision;
  }
  const bool speed = policy.scope.bench && evidence.current.metrics;
  if (!speed || report.status == GateStatus::skip) return decision;
  add_speed(report, evidence, policy);
  report.status = overall(report.lines);
  report.summary = summary_of(report);
  decision.wanted = wanted(evidence, policy, report);
  return decision;
}

results::TrainingMetrics confirmed(const results::TrainingMetrics& first,
                                   const results::TrainingMetrics& second) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double before = first.timing.p50.value.value_or(kNone);
  const double after = second.timing.p50.value.value_or(kNone);
  std::vector<double> medians = first.timing.run_p50.value_or(std::vector<double>{});
  if (second.timing.run_p50)
    medians.insert(medians.end(), second.timing.run_p50->begin(), second.timing.run_p50->end());
  results::TrainingMetrics chosen = after < before ? second : first;
  chosen.confirmation = {{before, after}, std::move(medians), after < before ? "second" : "first"};
  return chosen;
}

}  // namespace sluice::gate
