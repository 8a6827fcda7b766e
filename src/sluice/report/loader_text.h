// sluice/report/loader_text.h - a loader run for people: result block, stages, checks, diagnosis.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>

namespace sluice::report {

/// A result file of `bench dataloader`: it holds metrics of a loader.
bool is_loader_file(const results::ResultFile& file);

/// For the terminal.
std::string loader_text(const results::ResultFile& file);
/// A section of report.md: configuration, results, optimisations applied, improvements.
std::string loader_markdown(const results::ResultFile& file);

}  // namespace sluice::report
