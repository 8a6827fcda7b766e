// sluice/report/allreduce_text.h - what `sluice bench allreduce` shows on a terminal.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>

namespace sluice::report {

/// A table by size, and the conclusion; of a row that was not measured its reason.
std::string allreduce_text(const results::ResultFile& file);
/// The fastest bus and the shortest sum, each in a line.
std::string allreduce_conclusion(const results::AllreduceSummary& allreduce);

}  // namespace sluice::report
