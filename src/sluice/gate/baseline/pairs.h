// sluice/gate/baseline/pairs.h - what pairs with the baseline's own program add to a comparison
// with its stored numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline/compare.h"
#include "sluice/gate/gate_report.h"
#include "sluice/gate/pairs/paired_gate.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sluice::gate {

inline constexpr const char* kPairedStep = "step_time_pairs_s";

/// In `pairs` of metrics.json: a pair is value_of_rounds(); without it, as in older files, the
/// medians of both sides.
inline constexpr const char* kStepsPerTurn = "steps_per_turn";

/// The value of a pair that took turns of `steps_per_turn` steps: A's median step, and that times
/// the middle of all ratios of a turn of B to the turn of A beside it. What slows the machine for a
/// second slows neighbours alike, so the ratios scatter far less than the steps. Seconds; as many
/// samples of both, Errc::invalid_input otherwise.
Result<PairValue> value_of_rounds(std::span<const std::int64_t> a_ns,
                                  std::span<const std::int64_t> b_ns, int steps_per_turn);

/// `program` of metrics.json: the digest of the program that measured; empty: not known.
std::string program_of(const RunFiles& run);

/// The line of `pairs` in the current metrics.json, a paired report with that one metric, if it was
/// measured against the program of this baseline.
std::optional<GateLine> pairs_line(const RunFiles& current, const RunFiles& baseline);

}  // namespace sluice::gate
