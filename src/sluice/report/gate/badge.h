// sluice/report/gate/badge.h - a verdict as a small picture for a README.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"

#include <string>
#include <vector>

namespace sluice::report {

/// An SVG of one file, without fonts or addresses of others: "performance | PASS", the worst of the
/// reports, with the change of the line that failed.
std::string badge_svg(const std::vector<gate::GateReport>& reports);

}  // namespace sluice::report
