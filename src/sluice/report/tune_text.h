// sluice/report/tune_text.h - the answer of `sluice tune`, for people.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>

namespace sluice::report {

/// Out of the file alone.
std::string tune_text(const results::ResultFile& file);

}  // namespace sluice::report
