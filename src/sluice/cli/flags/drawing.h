// sluice/cli/flags/drawing.h - how mixtures are drawn, and `sluice report` of a file of batch
// times.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/report/mixture/svg.h"

#include <filesystem>
#include <string>

namespace sluice::cli {

/// --window, --stride, --top-k, --rolling.
void add_drawing_flags(CLI::App& command, report::MixtureDrawing& drawing);

/// An input of `sluice report` that is a file of batch times, not of results.
bool names_batch_times(const std::string& input);
/// `sluice report FILE.jsonl`: sections on stdout (or JSON), artifacts beside it or into --out.
Result<ExitCode> report_batch_times(const std::filesystem::path& path, const Globals& globals,
                                    const report::MixtureDrawing& drawing);

}  // namespace sluice::cli
