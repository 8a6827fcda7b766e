// sluice/report/gate/history_text.h - a figure over time: as text, and as a drawing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline/trend.h"

#include <string>

namespace sluice::report {

/// A line of blocks, one per visit (the newest 60), and one line per change with its commit range.
std::string history_text(const gate::Trend& trend, const std::string& machine_profile);

/// One dot per visit, levels as lines, changes as marks; stands alone, loads nothing.
std::string history_svg(const gate::Trend& trend, const std::string& machine_profile);

}  // namespace sluice::report
