// sluice/gate/baseline/usual_step.h - the step a machine usually reaches: what is compared when its
// speed comes and goes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline/history.h"
#include "sluice/gate/gate_report.h"

#include <optional>
#include <vector>

namespace sluice::gate {

/// Fewer runs have no quartile worth the name.
inline constexpr std::size_t kLeastUsualRuns = 4;
inline constexpr const char* kUsualStep = "step_time_usual_s";

/// Medians of every run of a measurement in seconds, its confirmation included; empty: not known.
std::vector<double> run_medians(const RunFiles& run);

/// Their lower quartile: neither the one run in twenty that had the machine to itself nor those
/// that were disturbed move it. On a shared machine it scatters a third as much as the best of
/// five. Nothing below kLeastUsualRuns.
std::optional<double> usual_step(const std::vector<double>& medians);

/// The usual steps of both in a line of its own, `step_time_usual_s`, judged by the tolerance of
/// the step time. Nothing where a side has too few runs.
std::optional<GateLine> usual_step_line(const RunFiles& current, const RunFiles& baseline,
                                        double tolerance_pct);

}  // namespace sluice::gate
