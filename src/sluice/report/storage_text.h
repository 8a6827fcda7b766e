// sluice/report/storage_text.h - what `sluice bench storage` shows on a terminal.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/storage_metrics.h"
#include "sluice/results/result_file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::report {

/// "4 KiB", "1.5 MiB".
std::string bytes_text(std::uint64_t bytes);

/// "at best, not from memory: ..." and "from memory: ...", a line each; empty where nothing was
/// measured.
std::string storage_conclusion(const std::vector<analysis::StorageLine>& lines);

/// A table per pattern, a line that says what it comes to, and what rows are not worth: too few
/// reads, reads from memory.
std::string storage_table(const std::vector<analysis::StorageLine>& lines);

/// The same of a file, and whether there was enough to read.
std::string storage_text(const results::ResultFile& file);

}  // namespace sluice::report
