// sluice/report/tune_text.h - the answer of `sluice tune`, for people.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>

namespace sluice::report {

/// Rounded up: "1 minute", "25 minutes", "3 hours".
std::string minutes_text(double seconds);

/// Out of the file alone.
std::string tune_text(const results::ResultFile& file);

}  // namespace sluice::report
