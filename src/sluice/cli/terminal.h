// sluice/cli/terminal.h - what stdout can show: width and colours.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/report/report.h"

namespace sluice::cli {

/// The width of the terminal, 120 columns elsewhere; colours on a terminal unless NO_COLOR is set.
report::TextOptions terminal_options();

}  // namespace sluice::cli
