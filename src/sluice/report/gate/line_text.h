// sluice/report/gate/line_text.h - a gate's line in words, the same in every format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::report {

/// "1,234 tokens/s"; a dash where there is none.
std::string gate_value(std::optional<double> value, const std::string& unit);
/// "-4.13 %", "+0.40 points".
std::string gate_delta(const gate::GateLine& line);
/// "FAIL: 1,000 tokens/s → 900.0 tokens/s, -10.00 % (at most 5 % less); <reason>".
std::string line_sentence(const gate::GateLine& line);

/// "wall 2.1 % with 16 pairs; cpu 0.8 % with 16 pairs": what pairs would have found with 90 %
/// probability (their minimal detectable effect). Empty: no line was measured in pairs.
std::string detectable(const gate::GateReport& report);

/// FAIL, INVALID, INCONCLUSIVE, WARN, SKIP, then the rest; equals keep their order.
std::vector<const gate::GateLine*> worst_first(const std::vector<gate::GateLine>& lines);

}  // namespace sluice::report
