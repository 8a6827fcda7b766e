// sluice/gate/gate_report.cpp - the whole from its lines; the report as JSON and back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/gate_report.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace sluice::gate {
namespace {

constexpr std::array kStatuses = {GateStatus::pass,         GateStatus::improved, GateStatus::warn,
                                  GateStatus::inconclusive, GateStatus::skip,     GateStatus::fail,
                                  GateStatus::invalid};

// JSON has no infinity: a value that is not finite travels as its name.
Json number_or_name(const std::optional<double>& value) {
  if (!value) return nullptr;
  if (std::isfinite(*value)) return *value;
  if (std::isnan(*value)) return "nan";
  return *value > 0 ? "inf" : "-inf";
}

Result<std::optional<double>> read_number(const Json& json, const std::string& key) {
  const auto at = json.find(key);
  if (at == json.end() || at->is_null()) return std::optional<double>{};
  if (at->is_number()) return std::optional(at->get<double>());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (*at == "inf") return std::optional(kInfinity);
  if (*at == "-inf") return std::optional(-kInfinity);
  if (*at == "nan") return std::optional(std::numeric_limits<double>::quiet_NaN());
  return Error{Errc::invalid_input, fmt::format("gate report: '{}' is not a number", key)};
}

Result<GateStatus> status_of(const Json& json) {
  const std::string word = string_at(json, "status");
  for (const GateStatus status : kStatuses) {
    if (word == to_string(status)) return status;
  }
  return Error{
      Errc::invalid_input,
      fmt::format("gate report: status '{}' is none of PASS, IMPROVED, WARN, INCONCLUSIVE, "
                  "SKIP, FAIL, INVALID",
                  printable(word))};
}

/// A report of an older version does not say: a note, which no rule weighs.
LineKind kind_of(const Json& json) {
  const std::string word = string_at(json, "kind");
  for (const LineKind kind :
       {LineKind::best_run, LineKind::usual_step, LineKind::tail, LineKind::fence, LineKind::pairs,
        LineKind::memory, LineKind::quality}) {
    if (word == to_string(kind)) return kind;
  }
  return LineKind::note;
}

std::string counted(std::ptrdiff_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace

const char* to_string(GateStatus status) {
  switch (status) {
    case GateStatus::pass:
      return "PASS";
    case GateStatus::improved:
      return "IMPROVED";
    case GateStatus::warn:
      return "WARN";
    case GateStatus::inconclusive:
      return "INCONCLUSIVE";
    case GateStatus::skip:
      return "SKIP";
    case GateStatus::fail:
      return "FAIL";
    case GateStatus::invalid:
      return "INVALID";
  }
  return "?";
}

const char* to_string(LineKind kind) {
  switch (kind) {
    case LineKind::best_run:
      return "best run";
    case LineKind::usual_step:
      return "usual step";
    case LineKind::tail:
      return "tail";
    case LineKind::fence:
      return "fence";
    case LineKind::pairs:
      return "pairs";
    case LineKind::memory:
      return "memory";
    case LineKind::quality:
      return "quality";
    case LineKind::note:
      return "note";
  }
  return "?";
}

std::optional<double> GateLine::times_longer() const {
  if (!baseline || !current || !(*baseline > 0) || !(*current > 0)) return std::nullopt;
  return better == measure::Better::higher ? *baseline / *current : *current / *baseline;
}

GateStatus overall(const std::vector<GateLine>& lines) {
  const auto any = [&](GateStatus status) {
    return std::ranges::any_of(lines, [&](const GateLine& line) { return line.status == status; });
  };
  for (const GateStatus status : {GateStatus::fail, GateStatus::invalid, GateStatus::inconclusive,
                                  GateStatus::warn, GateStatus::improved, GateStatus::pass}) {
    if (any(status)) return status;
  }
  return GateStatus::skip;
}

std::string summary_of(const GateReport& report) {
  const auto count = [&](GateStatus status) {
    return std::ranges::count_if(report.lines,
                                 [&](const GateLine& line) { return line.status == status; });
  };
  return fmt::format("{} ({}, {})", to_string(report.status),
                     counted(count(GateStatus::fail), "failure"),
                     counted(count(GateStatus::warn), "warning"));
}

Json to_json(const GateReport& report) {
  Json lines = Json::array();
  for (const GateLine& line : report.lines) {
    lines.push_back({{"metric", line.metric},
                     {"unit", line.unit},
                     {"baseline", number_or_name(line.baseline)},
                     {"current", number_or_name(line.current)},
                     {"delta", number_or_name(line.delta)},
                     {"delta_unit", line.delta_unit},
                     {"threshold", line.threshold},
                     {"kind", to_string(line.kind)},
                     {"better", line.better == measure::Better::lower ? "lower" : "higher"},
                     {"tolerance_pct", number_or_name(line.tolerance_pct)},
                     {"status", to_string(line.status)},
                     {"blocking", line.blocking},
                     {"reason", line.reason},
                     {"details", line.details}});
  }
  return {{"rule", report.rule},
          {"machine_profile", report.machine_profile},
          {"timestamp", report.timestamp},
          {"base", report.base_name},
          {"candidate", report.candidate_name},
          {"status", to_string(report.status)},
          {"summary", report.summary},
          {"reproduce", report.reproduce.empty() ? Json() : Json(report.reproduce)},
          {"lines", std::move(lines)}};
}

Result<GateReport> gate_report_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("lines") || !json["lines"].is_array()) {
    return Error{Errc::invalid_input, "gate report: not an object with a list 'lines'"};
  }
  GateReport report;
  report.rule = string_at(json, "rule");
  report.machine_profile = string_at(json, "machine_profile");
  report.timestamp = string_at(json, "timestamp");
  report.base_name = string_at(json, "base");
  report.candidate_name = string_at(json, "candidate");
  report.summary = string_at(json, "summary");
  report.reproduce = string_at(json, "reproduce");
  SLUICE_TRY(report.status, status_of(json));
  for (const Json& item : json["lines"]) {
    if (!item.is_object()) return Error{Errc::invalid_input, "gate report: a line is no object"};
    GateLine line;
    line.metric = string_at(item, "metric");
    line.unit = string_at(item, "unit");
    SLUICE_TRY(line.baseline, read_number(item, "baseline"));
    SLUICE_TRY(line.current, read_number(item, "current"));
    SLUICE_TRY(line.delta, read_number(item, "delta"));
    line.delta_unit = string_at(item, "delta_unit");
    line.threshold = string_at(item, "threshold");
    line.kind = kind_of(item);
    if (string_at(item, "better") == "higher") line.better = measure::Better::higher;
    SLUICE_TRY(line.tolerance_pct, read_number(item, "tolerance_pct"));
    SLUICE_TRY(line.status, status_of(item));
    line.blocking = item.value("blocking", true);
    line.reason = string_at(item, "reason");
    line.details = item.value("details", Json());
    report.lines.push_back(std::move(line));
  }
  return report;
}

}  // namespace sluice::gate
