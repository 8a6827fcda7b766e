// sluice/gate/baseline/usual_step.cpp - lower quartiles of run medians, side by side.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/usual_step.h"

#include "sluice/gate/baseline/compare.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

namespace sluice::gate {
std::vector<double> run_medians(const RunFiles& run) {
  if (!run.metrics) return {};
  // A confirmation holds those of both.
  if (run.metrics->confirmation) return run.metrics->confirmation->run_p50_s;
  return run.metrics->timing.run_p50.value_or(std::vector<double>{});
}

std::optional<double> usual_step(const std::vector<double>& medians) {
  if (medians.size() < kLeastUsualRuns) return std::nullopt;
  const auto quartile = stats::percentile(medians, 25);
  return quartile && *quartile > 0 ? std::optional(*quartile) : std::nullopt;
}

std::optional<GateLine> usual_step_line(const RunFiles& current, const RunFiles& baseline,
                                        double tolerance_pct) {
  const std::vector<double> now = run_medians(current);
  const std::vector<double> before = run_medians(baseline);
  GateLine line;
  line.metric = kUsualStep;
  line.kind = LineKind::usual_step;
  line.unit = "s";
  line.baseline = usual_step(before);
  line.current = usual_step(now);
  if (!line.baseline || !line.current) return std::nullopt;
  line.delta = delta_pct(*line.baseline, *line.current);
  line.delta_unit = "%";
  line.threshold = fmt::format("at most {} % more", tolerance_pct);
  line.tolerance_pct = tolerance_pct;
  line.details = Json{{"baseline_runs", before.size()}, {"current_runs", now.size()}};
  const bool slower = *line.delta > tolerance_pct + kToleranceEpsilon;
  line.status = slower ? GateStatus::fail : GateStatus::pass;
  line.reason = fmt::format("lower quartile of {} run medians, of {} with the baseline; {}",
                            now.size(), before.size(), slower ? "over the tolerance" : "within it");
  return line;
}

}  // namespace sluice::gate
