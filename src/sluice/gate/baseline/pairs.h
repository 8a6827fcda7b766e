// sluice/gate/baseline/pairs.h - what pairs with the baseline's own program add to a comparison
// with its stored numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline/compare.h"
#include "sluice/gate/gate_report.h"

#include <optional>
#include <string>

namespace sluice::gate {

inline constexpr const char* kPairedStep = "step_time_pairs_s";

/// `program` of metrics.json: the digest of the program that measured; empty: not known.
std::string program_of(const RunFiles& run);

/// The line of `pairs` in the current metrics.json, a paired report with that one metric, if it was
/// measured against the program of this baseline.
std::optional<GateLine> pairs_line(const RunFiles& current, const RunFiles& baseline);

}  // namespace sluice::gate
