// sluice/gate/pairs/paired_report.h - the outcome of pairs as a gate's report: one line per metric,
// in words and numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"
#include "sluice/gate/pairs/paired_gate.h"

#include <string>

namespace sluice::gate {

/// Rule "pairs", lines, status and summary; names, profile and time are the caller's.
GateReport report_of(const PairedOutcome& outcome);

Json to_json(const PairedOptions& options);

/// Every value: {metric: {"a", "b", "confirm_a", "confirm_b"}}, lists in the order of the pairs.
Json pairs_json(const PairedOutcome& outcome);

/// "4.8 % slower", "0.2 % faster", "unchanged", of a log ratio of speeds.
std::string change_in_words(double log_ratio);

}  // namespace sluice::gate
