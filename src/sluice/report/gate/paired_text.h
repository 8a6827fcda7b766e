// sluice/report/gate/paired_text.h - the verdict of a paired gate as a terminal shows it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"
#include "sluice/gate/pairs/paired_background.h"
#include "sluice/report/report.h"

#include <string>

namespace sluice::report {

/// A and B, one line per metric with its reason below, and the summary. For reports of the rule
/// "pairs"; numbers a line lacks are shown as a dash. With a `background`: CPU time, and where the
/// verdict is INCONCLUSIVE why, how long enough pairs would take, and whether CPU time decides.
std::string paired_text(const gate::GateReport& report, const TextOptions& options = {},
                        const gate::PairedBackground* background = nullptr);

}  // namespace sluice::report
