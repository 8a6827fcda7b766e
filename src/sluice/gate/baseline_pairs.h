// sluice/gate/baseline_pairs.h - what pairs with the baseline's own program add to a comparison
// with its stored numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline_compare.h"
#include "sluice/gate/gate_report.h"

#include <string>

namespace sluice::gate {

inline constexpr const char* kPairedStep = "step_time_pairs_s";

/// `program` of metrics.json: the digest of the program that measured; empty: not known.
std::string program_of(const RunFiles& run);

/// Adds the line of `pairs` in the current metrics.json, a paired report with that one metric, if
/// it was measured against the program of this baseline. Pairs see through a machine whose speed
/// changes: where they PASS, lines of speed that fail against stored numbers are warnings. Pairs
/// that could not decide are a note; a stored loss beyond their interval is then INVALID, since the
/// two contradict each other. True: they FAIL, and the machine is no excuse any more.
bool add_baseline_pairs(GateReport& report, const RunFiles& current, const RunFiles& baseline);

}  // namespace sluice::gate
