// sluice/gate/machine_cause.h - was it the machine? What turns a slow measurement into one that
// says nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"
#include "sluice/gate/history.h"

#include <optional>
#include <string>

namespace sluice::gate {

/// Two runs of one measurement agree when their medians are within this share of each other.
inline constexpr double kRunsAgree = 0.03;

/// What was seen beside the numbers.
struct MachineFacts {
  std::optional<CanarySpeed> canary, baseline_canary;
  Json run_medians;  // `timing.run_p50_s` of metrics.json; null: one run
  Json noise;        // the noise check as JSON; null: not made
};

/// "steal 4.1 %; ..." of what a noise check holds against the machine; empty: nothing.
std::string noise_text(const Json& noise);

/// Why a line that fails says nothing about the code, in one sentence: the canary got slower too,
/// and what is left after taking that off is within `tolerance_pct`; or the machine is noisy by its
/// check, and the two best runs are further apart than kRunsAgree and than the line is over its
/// tolerance. Nothing: it stands.
std::optional<std::string> machine_cause(const GateLine& line, double tolerance_pct,
                                         const MachineFacts& facts);

/// Makes every failed line of speed INVALID for which there is a cause, and the whole again.
/// `tolerance_pct` by metric.
void excuse(GateReport& report, const std::map<std::string, double>& tolerance_pct,
            const MachineFacts& facts);

}  // namespace sluice::gate
