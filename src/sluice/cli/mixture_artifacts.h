// sluice/cli/mixture_artifacts.h - the files drawn of batch_times.jsonl, now or later again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/report/mixture_svg.h"
#include "sluice/results/batch_times.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice::cli {

/// --window, --stride, --top-k, --rolling.
void add_drawing_flags(CLI::App& command, report::MixtureDrawing& drawing);

/// Writes mixture_over_time.svg, mixture_windows_every_stride.svg and mixture_summary.txt: all
/// three, or none when one cannot be made. The paths written.
Result<std::vector<std::filesystem::path>> write_mixture_artifacts(
    const std::filesystem::path& folder, std::span<const results::BatchTime> batches,
    const report::MixtureDrawing& drawing);

/// An input of `sluice report` that is a file of batch times, not of results.
bool names_batch_times(const std::string& input);
/// `sluice report FILE.jsonl`: sections on stdout (or JSON), artifacts beside it or into --out.
Result<ExitCode> report_batch_times(const std::filesystem::path& path, const Globals& globals,
                                    const report::MixtureDrawing& drawing);

}  // namespace sluice::cli
