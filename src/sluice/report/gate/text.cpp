// sluice/report/gate/text.cpp - the table of a gate report and its details.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/text.h"

#include "sluice/core/text.h"
#include "sluice/report/gate/line_text.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace sluice::report {
namespace {

using gate::GateLine;
using gate::GateStatus;

constexpr const char* kNoNumber = "--";

std::string short_value(const std::optional<double>& value) {
  if (!value || std::isnan(*value)) return kNoNumber;
  if (std::isinf(*value)) return *value > 0 ? "+inf" : "-inf";
  constexpr double kExact = 1e13;  // fits the column
  if (*value == std::round(*value) && std::abs(*value) < kExact)
    return fmt::format("{:.0f}", *value);
  if (std::abs(*value) >= 1e6 && std::abs(*value) < kExact) return fmt::format("{:.1f}", *value);
  return fmt::format("{:.6g}", *value);
}

std::string delta_text(const GateLine& line) {
  if (!line.delta || std::isnan(*line.delta)) return kNoNumber;
  const char* unit = line.delta_unit == "points" ? "pp" : line.delta_unit == "%" ? "%" : "";
  if (std::isinf(*line.delta)) return fmt::format("{}inf{}", *line.delta > 0 ? '+' : '-', unit);
  if (line.delta_unit.empty()) return fmt::format("{:+.3g}", *line.delta);
  return fmt::format("{:+.2f}{}", *line.delta, unit);
}

std::string row(const std::string& metric, const std::string& baseline, const std::string& current,
                const std::string& delta, const std::string& status) {
  return fmt::format("{:<32} {:>14} {:>14} {:>10} {:>8}\n", metric, baseline, current, delta,
                     status);
}

/// Every line of that status, with all its numbers.
std::string details(const gate::GateReport& report, GateStatus status) {
  std::string text;
  for (const GateLine& line : report.lines) {
    if (line.status != status) continue;
    if (text.empty()) text = fmt::format("\n{} details:\n", to_string(status));
    text += fmt::format("  {}: {}\n", printable(line.metric), printable(line.reason));
    if (!line.baseline && !line.current) continue;
    text += fmt::format("    Baseline: {}  Current: {}  Delta: {}", short_value(line.baseline),
                        short_value(line.current), delta_text(line));
    if (!line.threshold.empty()) text += fmt::format("  threshold: {}", line.threshold);
    text += '\n';
  }
  return text;
}

/// What a line adds to its verdict, and what was not judged.
std::string notes(const gate::GateReport& report) {
  std::string text;
  const auto add = [&](const std::string& metric, const std::string& note) {
    if (text.empty()) text = "\nNotes, not judged:\n";
    text += fmt::format("  {}: {}\n", printable(metric), printable(note));
  };
  for (const GateLine& line : report.lines) {
    if (line.status == GateStatus::skip) add(line.metric, line.reason);
    if (!line.details.is_object()) continue;
    const auto note = line.details.find("note");
    if (note != line.details.end() && note->is_string()) add(line.metric, note->get<std::string>());
  }
  return text;
}

/// Which of the many numbers of a run stands in the lines of its speed.
std::string statistics_of(const gate::GateReport& report) {
  std::vector<std::string> names;
  for (const GateLine& line : report.lines)
    if (line.kind == gate::LineKind::best_run && line.status != GateStatus::skip)
      names.push_back(printable(line.metric) + (line.unit.empty() ? "" : " (" + line.unit + ")"));
  return names.empty() ? "" : "\n" + join(names) + ": median step of the best run\n";
}

}  // namespace

std::string gate_text(const gate::GateReport& report) {
  std::string text =
      fmt::format("=== Performance Gate Report ===\nMachine Profile: {}\nTimestamp: {}\n\n",
                  printable(report.machine_profile), printable(report.timestamp));
  text += row("Metric", "Baseline", "Current", "Delta", "Status") + std::string(84, '-') + "\n";
  for (const GateLine& line : report.lines) {
    if (line.status == GateStatus::skip) continue;
    text += row(printable(line.metric), short_value(line.baseline), short_value(line.current),
                delta_text(line), to_string(line.status));
  }
  text += statistics_of(report);
  text += fmt::format("\nOverall: {}\n", printable(report.summary));
  for (const GateStatus status :
       {GateStatus::fail, GateStatus::invalid, GateStatus::warn, GateStatus::inconclusive})
    text += details(report, status);
  text += notes(report);
  if (const std::string mde = detectable(report); !mde.empty())
    text += fmt::format("\nMDE, the smallest loss that pairs would have found: {}\n", mde);
  if (!report.reproduce.empty())
    text += fmt::format("\nReproduce: {}\n", printable(report.reproduce));
  return report.rule.empty() ? text : text + fmt::format("\nRule: {}\n", printable(report.rule));
}

}  // namespace sluice::report
