// sluice/report/tour_text.h - what the tour found and what to try next, in three sentences.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>
#include <vector>

namespace sluice::report {

/// Ours beside others; training, and what limits it; the next commands. Every number is computed
/// from the rows and the summary of `file`: what was not measured is said, with its reason.
std::vector<std::string> tour_sentences(const results::ResultFile& file);

/// Those that the file holds; none in a file that is no tour's.
std::vector<std::string> found_sentences(const results::ResultFile& file);

}  // namespace sluice::report
