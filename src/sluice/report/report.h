// sluice/report/report.h - what people read of result files: Markdown, CSV, a page, a terminal
// table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>
#include <vector>

namespace sluice::report {

// Pure functions: the same files give the same bytes, on every machine. Files of one session on one
// machine share a table, so that libraries stand side by side; others get sections of their own.
// Strings of a file are shown, never interpreted: markup, control characters and formulas in them
// have no effect.

std::string markdown(const std::vector<results::ResultFile>& files);

/// One line per row, canary included, full precision; RFC 4180 with \n line ends.
std::string csv(const std::vector<results::ResultFile>& files);

/// One self-contained page: no script, no network, light and dark, for screens from 320 px and for
/// paper.
std::string html(const std::vector<results::ResultFile>& files);

struct TextOptions {
  unsigned width = 100;  // columns that tables keep to, at least 60; only commands may be longer
  bool colour = false;   // ANSI colours: the caller knows whether this is a terminal, and NO_COLOR
  bool brief = false;    // rows that stand in the comparison with others are not shown once more
};
std::string text_table(const std::vector<results::ResultFile>& files,
                       const TextOptions& options = {});

/// `argv` as one line that a shell splits into the same words again.
std::string shell_command(const std::vector<std::string>& argv);

}  // namespace sluice::report
