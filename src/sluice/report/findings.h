// sluice/report/findings.h - figures, stages, checks and findings of a result file as text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/conclusions.h"

#include <string>
#include <vector>

namespace sluice::report {

/// The figure times `scale` by `format`, or "n/a (reason)".
std::string shown(const measure::Measured<double>& figure, const char* format, double scale = 1);
/// Targets or indicators, one line each with ✓, ✗ or –; empty without any.
std::string checks_text(const std::vector<results::Check>& list, const char* heading);
/// What the workers of a loader did; empty without any.
std::string stages_text(const std::vector<results::StageShare>& list);
/// What it is, why, what to do; empty without any.
std::string findings_text(const std::vector<results::Finding>& list);
/// "  sluice is 1.20 x (1.10 to 1.30)" of the peer in the case; empty without that ratio.
std::string peer_ratio_text(const std::vector<results::PeerRatio>& ratios,
                            const std::string& case_name, const std::string& peer);
/// "- 1.20x faster data loading than torch (95 % interval 1.10 to 1.30)", a line for every peer.
std::string ratios_markdown(const std::vector<results::PeerRatio>& ratios, const char* at_what);

}  // namespace sluice::report
