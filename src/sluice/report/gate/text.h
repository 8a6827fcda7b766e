// sluice/report/gate/text.h - what a gate says, as text: gate_report.txt.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"

#include <string>

namespace sluice::report {

/// One row per judged line, the whole, then every failure and warning with baseline, current, delta
/// and threshold; what was not judged comes last with its reason. Plain ASCII, at least 84 columns.
std::string gate_text(const gate::GateReport& report);

}  // namespace sluice::report
