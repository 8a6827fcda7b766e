// sluice/gate/pairs/paired_report.cpp - lines, reasons and JSON of the paired gate.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_report.h"

#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

namespace sluice::gate {
namespace {

std::string fine_percent(double share) {
  const double value = 100 * share;
  if (value > 0 && value < 0.1) return fmt::format("{:.2f} %", value);
  return fmt::format("{:.1f} %", value);
}

std::string interval_in_words(const PairedEvidence& evidence) {
  return fmt::format("{:+.1f} to {:+.1f} %", 100 * speed_change(evidence.low),
                     100 * speed_change(evidence.high));
}

const Confirmation* last_alarm(const PairedMetricOutcome& one) {
  return one.confirmations.empty() ? nullptr : &one.confirmations.back();
}

std::string cleared(const PairedMetricOutcome& one) {
  const Confirmation* alarm = last_alarm(one);
  if (alarm == nullptr || alarm->confirmed) return {};
  return fmt::format("; an alarm after {} pairs was not confirmed by {} fresh ones (p {:.2g})",
                     alarm->after_pairs, alarm->pairs, alarm->p);
}

std::string why_inconclusive(const PairedMetricOutcome& one, std::size_t family) {
  const PairedEvidence& evidence = one.evidence;
  std::string reason = fmt::format("a drop of {} is neither shown nor ruled out ({})",
                                   fine_percent(one.metric.tau), interval_in_words(evidence));
  if (evidence.pairs < fewest_pairs(evidence.level, family)) {
    reason += fmt::format("; {} pairs can never show a loss at this level, {} are the fewest",
                          evidence.pairs, fewest_pairs(evidence.level, family));
  } else if (evidence.mde > one.metric.tau) {
    reason += fmt::format("; cannot detect changes under {} with {} pairs, {} needed",
                          fine_percent(evidence.mde), evidence.pairs, evidence.needed_pairs);
  }
  return reason;
}

std::string reason_of(const PairedMetricOutcome& one, std::size_t family) {
  const PairedEvidence& evidence = one.evidence;
  const std::string change = change_in_words(evidence.estimate);
  std::string reason;
  switch (one.status) {
    case GateStatus::improved:
      reason = fmt::format("{} ({})", change, interval_in_words(evidence));
      break;
    case GateStatus::pass:
      reason = fmt::format("{}; a drop of {} is ruled out ({})", change,
                           fine_percent(one.metric.tau), interval_in_words(evidence));
      break;
    case GateStatus::fail:
    case GateStatus::warn:
      reason = fmt::format("{} ({})", change, interval_in_words(evidence));
      break;
    default:
      reason = why_inconclusive(one, family);
  }
  const Confirmation* alarm = last_alarm(one);
  if (alarm != nullptr && alarm->confirmed)
    reason += fmt::format(", confirmed by {} fresh pairs: {} (p {:.2g})", alarm->pairs,
                          change_in_words(alarm->estimate), alarm->p);
  return reason + cleared(one);
}

Json details_of(const PairedMetricOutcome& one) {
  const PairedEvidence& evidence = one.evidence;
  Json confirmations = Json::array();
  for (const Confirmation& alarm : one.confirmations) {
    confirmations.push_back({{"after_pairs", alarm.after_pairs},
                             {"pairs", alarm.pairs},
                             {"speed_change", speed_change(alarm.estimate)},
                             {"p", alarm.p},
                             {"confirmed", alarm.confirmed}});
  }
  return {{"pairs", evidence.pairs},
          {"better", measure::to_string(one.metric.better)},
          {"tau", one.metric.tau},
          {"level", evidence.level},
          {"speed_change",
           {{"point", speed_change(evidence.estimate)},
            {"low", speed_change(evidence.low)},
            {"high", speed_change(evidence.high)},
            {"hodges_lehmann", speed_change(evidence.hodges_lehmann)}}},
          {"sd_log_ratio", evidence.sd},
          {"p_paired_t", evidence.p_t},
          {"p_sign_flip", evidence.p_sign_flip},
          {"sign_flip_exact", evidence.sign_flip_exact},
          {"p_holm", evidence.p_holm},
          {"mde", evidence.mde},
          {"needed_pairs", evidence.needed_pairs},
          {"confirmations", std::move(confirmations)}};
}

std::optional<double> centre(const std::vector<double>& values, int pairs) {
  const auto mean = stats::geometric_mean(std::span(values).first(static_cast<std::size_t>(pairs)));
  return mean ? std::optional(*mean) : std::nullopt;
}

GateLine line_of(const PairedMetricOutcome& one, std::size_t family) {
  GateLine line;
  line.metric = one.metric.name;
  line.unit = one.metric.unit;
  line.baseline = centre(one.a, one.evidence.pairs);
  line.current = centre(one.b, one.evidence.pairs);
  const double sense = one.metric.better == measure::Better::higher ? 1 : -1;
  line.delta = 100 * std::expm1(sense * one.evidence.estimate);
  line.delta_unit = "%";
  line.threshold = fmt::format("no loss of {} in speed", fine_percent(one.metric.tau));
  line.status = one.status;
  line.blocking = one.metric.blocking;
  line.reason = reason_of(one, family);
  line.details = details_of(one);
  return line;
}

}  // namespace

std::string change_in_words(double log_ratio) {
  const double change = speed_change(log_ratio);
  if (std::abs(change) < 5e-5) return "unchanged";
  return fmt::format("{} {}", fine_percent(std::abs(change)), change < 0 ? "slower" : "faster");
}

GateReport report_of(const PairedOutcome& outcome) {
  std::size_t family = 0;
  for (const PairedMetricOutcome& one : outcome.metrics)
    family += one.metric.blocking ? 1 : 0;
  GateReport report;
  report.rule = "pairs";
  std::vector<GateLine> blocking;
  for (const PairedMetricOutcome& one : outcome.metrics) {
    report.lines.push_back(line_of(one, family));
    // What never blocks colours the whole no further than a warning.
    if (one.metric.blocking || one.status == GateStatus::warn)
      blocking.push_back(report.lines.back());
  }
  report.status = overall(blocking);
  report.summary = fmt::format("{} after {} pairs", to_string(report.status), outcome.pairs);
  if (outcome.confirm_pairs > 0)
    report.summary += fmt::format(" and {} to confirm", outcome.confirm_pairs);
  return report;
}

Json to_json(const PairedOptions& options) {
  Json looks = Json::array();
  for (const PairedLook& look : options.looks)
    looks.push_back({{"pairs", look.pairs}, {"alpha_share", look.alpha_share}});
  return {{"tau", options.tau},
          {"floor", options.floor},
          {"alpha", options.alpha},
          {"power", options.power},
          {"looks", std::move(looks)},
          {"confirm_pairs", options.confirm_pairs},
          {"confirm_alpha", options.confirm_alpha},
          {"sign_flip_draws", options.draws},
          {"seed", options.seed}};
}

Json pairs_json(const PairedOutcome& outcome) {
  Json all = Json::object();
  for (const PairedMetricOutcome& one : outcome.metrics) {
    all[one.metric.name] = {
        {"a", one.a}, {"b", one.b}, {"confirm_a", one.confirm_a}, {"confirm_b", one.confirm_b}};
  }
  return all;
}

}  // namespace sluice::gate
