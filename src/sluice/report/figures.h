// sluice/report/figures.h - what a run came to besides rows and pictures, by name: text prints it
// as lines, the page as a list.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/report/facts.h"

#include <string>
#include <vector>

namespace sluice::report {

/// A line that goes on with the one before has no name. Empty where the file has no such run.
std::vector<Fact> training_facts(const results::ResultFile& file);
std::vector<Fact> loader_facts(const results::ResultFile& file);
/// What a search says besides its rates.
std::vector<std::string> tune_sentences(const results::TuneSummary& tune);

}  // namespace sluice::report
