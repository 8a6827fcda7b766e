// sluice/gate/baseline/pairs.cpp - pairs as a run left them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/pairs.h"

namespace sluice::gate {

std::string program_of(const RunFiles& run) {
  return run.metrics ? run.metrics->program.value_or("") : "";
}

std::optional<GateLine> pairs_line(const RunFiles& current, const RunFiles& baseline) {
  const std::string program = program_of(baseline);
  if (!current.metrics || program.empty()) return std::nullopt;
  const Json& pairs = current.metrics->pairs;
  if (string_at(pairs, "program") != program) return std::nullopt;
  auto report = gate_report_from_json(pairs);
  if (!report || report->lines.size() != 1) return std::nullopt;
  GateLine line = std::move(report->lines.front());
  line.kind = LineKind::pairs;  // older files do not say
  return line;
}

}  // namespace sluice::gate
