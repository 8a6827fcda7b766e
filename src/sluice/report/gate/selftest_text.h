// sluice/report/gate/selftest_text.h - the self-test of the paired gate as a terminal shows it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/bisect/simulation.h"
#include "sluice/gate/pairs/paired_selftest.h"
#include "sluice/gate/pairs/paired_simulation.h"

#include <string>
#include <vector>

namespace sluice::report {

/// Measured trials: one line per slowdown, then the noise and what it means for tau.
std::string selftest_text(const std::vector<gate::SelftestCondition>& conditions,
                          const gate::SelftestNoise& noise, const gate::PairedOptions& options);

/// The usual designs beside the configured gate.
std::string simulation_text(const std::vector<gate::SimulatedDesign>& table,
                            const gate::SimulationOptions& options);
/// The same of searches for a commit.
std::string bisect_simulation_text(const std::vector<gate::SimulatedBisect>& table,
                                   const gate::BisectSimulationOptions& options);

}  // namespace sluice::report
