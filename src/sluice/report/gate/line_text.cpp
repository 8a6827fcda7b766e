// sluice/report/gate/line_text.cpp - numbers of a gate with sign and unit; worst lines first.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/line_text.h"

#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::report {
namespace {

int rank(gate::GateStatus status) {
  switch (status) {
    case gate::GateStatus::fail:
      return 0;
    case gate::GateStatus::invalid:
      return 1;
    case gate::GateStatus::inconclusive:
      return 2;
    case gate::GateStatus::warn:
      return 3;
    case gate::GateStatus::skip:
      return 4;
    case gate::GateStatus::improved:
    case gate::GateStatus::pass:
      break;
  }
  return 5;
}

std::string with_unit(std::string number, const std::string& unit) {
  return unit.empty() ? number : number + " " + unit;
}

}  // namespace

std::string gate_value(std::optional<double> value, const std::string& unit) {
  if (!value) return std::string(kNone);
  return with_unit(std::isfinite(*value) ? significant(*value, 4) : fmt::format("{}", *value),
                   unit);
}

std::string gate_delta(const gate::GateLine& line) {
  if (!line.delta) return std::string(kNone);
  const bool share = line.delta_unit == "%" || line.delta_unit == "points";
  std::string number = share && std::fabs(*line.delta) < 1e6 ? fmt::format("{:+.2f}", *line.delta)
                                                             : fmt::format("{:+.4g}", *line.delta);
  return with_unit(std::move(number), line.delta_unit);
}

std::string line_sentence(const gate::GateLine& line) {
  std::string out = gate::to_string(line.status);
  out += ": ";
  if (line.baseline || line.current) {
    out += fmt::format("{} → {}", gate_value(line.baseline, line.unit),
                       gate_value(line.current, line.unit));
    if (line.delta) out += ", " + gate_delta(line);
    if (!line.threshold.empty()) out += " (" + line.threshold + ")";
    out += "; ";
  }
  return out + line.reason;
}

std::string detectable(const gate::GateReport& report) {
  std::string out;
  for (const gate::GateLine& line : report.lines) {
    if (!line.details.is_object()) continue;
    const Json& mde = at(line.details, "mde");
    const Json& pairs = at(line.details, "pairs");
    if (!mde.is_number() || !pairs.is_number()) continue;
    out += fmt::format("{}{} {:.1f} % with {} pairs", out.empty() ? "" : "; ",
                       printable(line.metric), 100 * mde.get<double>(), pairs.get<double>());
  }
  return out;
}

std::vector<const gate::GateLine*> worst_first(const std::vector<gate::GateLine>& lines) {
  std::vector<const gate::GateLine*> order;
  for (const gate::GateLine& line : lines)
    order.push_back(&line);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return rank(a->status) < rank(b->status); });
  return order;
}

}  // namespace sluice::report
