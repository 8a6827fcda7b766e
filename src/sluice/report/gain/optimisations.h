// sluice/report/gain/optimisations.h - what a run did to be fast, in words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>
#include <vector>

namespace sluice::report {

/// Every optimisation that the configuration of a loader or training run says was on, plain text:
/// "Persistent workers". Those of the loader come first.
std::vector<std::string> optimisations_of(const results::ResultFile& file);

}  // namespace sluice::report
