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
Json number(const std::optional<double>& value) {
  if (!value) return nullptr;
  if (std::isfinite(*value)) return *value;
  if (std::isnan(*value)) return "nan";
  return *value > 0 ? "inf" : "-inf";
}

Result<std::optional<double>> number_of(const Json& json, const std::string& key) {
  const auto at = json.find(key);
  if (at == json.end() || at->is_null()) return std::optional<double>{};
  if (at->is_number()) return std::optional(at->get<double>());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (*at == "inf") return std::optional(kInfinity);
  if (*at == "-inf") return std::optional(-kInfinity);
  if (*at == "nan") return std::optional(std::numeric_limits<double>::quiet_NaN());
  return Error{Errc::invalid_input, fmt::format("gate report: '{}' is not a number", key)};
}

std::string text_of(const Json& json, const std::string& key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

Result<GateStatus> status_of(const Json& json) {
  const std::string word = text_of(json, "status");
  for (const GateStatus status : kStatuses) {
    if (word == to_string(status)) return status;
  }
  return Error{
      Errc::invalid_input,
      fmt::format("gate report: status '{}' is none of PASS, IMPROVED, WARN, INCONCLUSIVE, "
                  "SKIP, FAIL, INVALID",
                  printable(word))};
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
                     {"baseline", number(line.baseline)},
                     {"current", number(line.current)},
                     {"delta", number(line.delta)},
                     {"delta_unit", line.delta_unit},
                     {"threshold", line.threshold},
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
          {"lines", std::move(lines)}};
}

Result<GateReport> gate_report_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("lines") || !json["lines"].is_array()) {
    return Error{Errc::invalid_input, "gate report: not an object with a list 'lines'"};
  }
  GateReport report;
  report.rule = text_of(json, "rule");
  report.machine_profile = text_of(json, "machine_profile");
  report.timestamp = text_of(json, "timestamp");
  report.base_name = text_of(json, "base");
  report.candidate_name = text_of(json, "candidate");
  report.summary = text_of(json, "summary");
  SLUICE_TRY(report.status, status_of(json));
  for (const Json& item : json["lines"]) {
    if (!item.is_object()) return Error{Errc::invalid_input, "gate report: a line is no object"};
    GateLine line;
    line.metric = text_of(item, "metric");
    line.unit = text_of(item, "unit");
    SLUICE_TRY(line.baseline, number_of(item, "baseline"));
    SLUICE_TRY(line.current, number_of(item, "current"));
    SLUICE_TRY(line.delta, number_of(item, "delta"));
    line.delta_unit = text_of(item, "delta_unit");
    line.threshold = text_of(item, "threshold");
    SLUICE_TRY(line.status, status_of(item));
    line.blocking = item.value("blocking", true);
    line.reason = text_of(item, "reason");
    line.details = item.value("details", Json());
    report.lines.push_back(std::move(line));
  }
  return report;
}

}  // namespace sluice::gate
