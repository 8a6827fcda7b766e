// sluice/gate/usual_step.h - the step a machine usually reaches: what is compared when its speed
// comes and goes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"
#include "sluice/gate/history.h"

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

/// Compares the usual steps of both in the line `step_time_usual_s`, with the tolerance of the step
/// time, and weighs the seed's lines by it: a best run that fails while the usual step is within
/// the tolerance was luck on one side, and is a warning. Adds nothing where a side has too few
/// runs or nothing was compared.
void add_usual_step(GateReport& report, const RunFiles& current, const RunFiles& baseline,
                    double tolerance_pct);

}  // namespace sluice::gate
