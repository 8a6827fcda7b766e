// sluice/gate/baseline/pairs.cpp - pairs as a run left them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/pairs.h"

#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::gate {
namespace {

using Nanoseconds = std::span<const std::int64_t>;

Result<double> median_of(Nanoseconds samples) {
  const std::vector<double> values(samples.begin(), samples.end());
  return stats::median(values);
}

}  // namespace

Result<PairValue> value_of_rounds(Nanoseconds a_ns, Nanoseconds b_ns, int steps_per_turn) {
  const auto turn = static_cast<std::size_t>(steps_per_turn);
  if (steps_per_turn < 1 || a_ns.empty() || a_ns.size() != b_ns.size())
    return Error{Errc::invalid_input,
                 fmt::format("a pair of {} and {} steps in turns of {}: expected as many of both, "
                             "and a turn of at least 1",
                             a_ns.size(), b_ns.size(), steps_per_turn)};
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a_ns.size(); i += turn) {
    const std::size_t count = std::min(turn, a_ns.size() - i);
    SLUICE_TRY(const double a, median_of(a_ns.subspan(i, count)));
    SLUICE_TRY(const double b, median_of(b_ns.subspan(i, count)));
    if (!(a > 0 && b > 0))
      return Error{Errc::invalid_input, "a step of no time: expected one above 0 ns"};
    ratios.push_back(std::log(b / a));
  }
  SLUICE_TRY(const double middle, stats::median(ratios));
  SLUICE_TRY(const double a, median_of(a_ns));
  return PairValue{a * 1e-9, a * 1e-9 * std::exp(middle)};
}

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
