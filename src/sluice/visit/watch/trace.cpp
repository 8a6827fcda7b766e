// sluice/visit/watch/trace.cpp - spans in, events out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/watch/trace.h"

#include "sluice/core/trace_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace sluice::visit {
namespace {

constexpr int kProcess = 1;
constexpr TracePlace kSteps{kProcess, 1}, kPhases{kProcess, 2};

}  // namespace

std::string marks_trace(const measure::Marks& marks, std::int64_t warmup,
                        const std::string& program) {
  using measure::MarkedKind;
  static constexpr std::array kReported = {
      std::pair(MarkedKind::loss, "loss"), std::pair(MarkedKind::tokens, "tokens"),
      std::pair(MarkedKind::samples, "samples"), std::pair(MarkedKind::flop, "flop"),
      std::pair(MarkedKind::device_ns, "device_ns")};
  TraceJson json(
      Json{{"displayTimeUnit", "ms"}, {"otherData", {{"program", program}, {"pid", marks.pid}}}});
  json.name_process(kProcess, program);
  json.name_thread(kSteps, "steps");
  json.name_thread(kPhases, "phases");
  std::vector<measure::ValueTable> values;
  for (const auto& [what, name] : kReported)
    values.push_back(values_by_step(marks, what));
  const std::int64_t origin = marks.steps.empty() ? 0 : marks.steps.front().begin_ns;
  const auto add = [&](const TracePlace& place, const measure::MarkedSpan& span,
                       std::string_view name, std::string_view category, std::string_view args) {
    json.span(place, static_cast<double>(span.begin_ns - origin) * 1e-3,
              static_cast<double>(span.end_ns - span.begin_ns) * 1e-3, name, category, args);
  };
  for (std::size_t i = 0; i < marks.steps.size(); ++i) {
    Json args = Json::object();
    for (std::size_t k = 0; k < kReported.size(); ++k)
      if (const auto& value = values[k].by_step[i]; value && std::isfinite(*value))
        args[kReported[k].second] = *value;
    add(kSteps, marks.steps[i], fmt::format("step {}", i),
        static_cast<std::int64_t>(i) < warmup ? "warm-up" : "step", args.dump());
  }
  for (const measure::MarkedSpan& phase : marks.phases)
    if (phase.begin_ns >= origin) add(kPhases, phase, marks.names[phase.name], "phase", {});
  return std::move(json).finish();
}

}  // namespace sluice::visit
