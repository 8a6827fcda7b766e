// sluice/gate/baseline_pairs.cpp - pairs beside stored numbers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline_pairs.h"

#include "sluice/gate/usual_step.h"

#include <fmt/format.h>

namespace sluice::gate {
namespace {

bool is_stored_speed(const GateLine& line) {
  return line.metric == "tokens_per_sec_p50" || line.metric == "step_time_p50_s" ||
         line.metric == kUsualStep || line.metric.starts_with("fence/");
}

/// Of a line against stored numbers: the change in speed as a share.
double speed_change_of(const GateLine& line) {
  const double change = line.delta.value_or(0) / 100;
  const bool time = line.metric.starts_with("step_time_");
  return time ? 1 / (1 + change) - 1 : change;
}

/// Pairs that did not decide: the ends of their interval, as shares of speed.
void contradict(GateReport& report, const GateLine& pairs) {
  const Json::json_pointer low("/speed_change/low"), high("/speed_change/high");
  if (!pairs.details.contains(low) || !pairs.details.at(low).is_number()) return;
  for (GateLine& stored : report.lines) {
    if (stored.status != GateStatus::fail || !is_stored_speed(stored)) continue;
    if (speed_change_of(stored) >= pairs.details.at(low).get<double>()) continue;
    stored.status = GateStatus::invalid;
    stored.reason += fmt::format(
        ", but beside the program of the baseline, run in turns, the speed changed by {:+.1f} to "
        "{:+.1f} %: the machine was slower",
        100 * pairs.details.at(low).get<double>(), 100 * pairs.details.value(high, 0.0));
  }
}

std::optional<GateLine> pairs_line_of(const RunFiles& current, const std::string& program) {
  if (!current.metrics || !current.metrics->is_object()) return std::nullopt;
  const auto pairs = current.metrics->find("pairs");
  if (pairs == current.metrics->end() || program.empty()) return std::nullopt;
  if (string_at(*pairs, "program") != program) return std::nullopt;
  auto report = gate_report_from_json(*pairs);
  if (!report || report->lines.size() != 1) return std::nullopt;
  return std::move(report->lines.front());
}

}  // namespace

std::string program_of(const RunFiles& run) {
  return text_of(run.metrics, "program");
}

bool add_baseline_pairs(GateReport& report, const RunFiles& current, const RunFiles& baseline) {
  if (report.status == GateStatus::skip) return false;
  std::optional<GateLine> line = pairs_line_of(current, program_of(baseline));
  if (!line) return false;
  const bool fails = line->status == GateStatus::fail;
  if (line->status == GateStatus::inconclusive) {
    line->status = GateStatus::skip;
    contradict(report, *line);
  }
  if (line->status == GateStatus::pass || line->status == GateStatus::improved) {
    for (GateLine& stored : report.lines) {
      if (stored.status != GateStatus::fail || !is_stored_speed(stored)) continue;
      stored.status = GateStatus::warn;
      stored.reason += fmt::format(
          ", but beside the program of the baseline, run in turns, the step changed by {:+.1f} %: "
          "the machine was slower",
          line->delta.value_or(0));
    }
  }
  report.lines.push_back(std::move(*line));
  report.status = overall(report.lines);
  report.summary = summary_of(report);
  return fails;
}

}  // namespace sluice::gate
