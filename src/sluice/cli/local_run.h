// sluice/cli/local_run.h - what commands share that carry a plan out on this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/local.h"
#include "sluice/cli/command.h"
#include "sluice/cli/flags/sampling.h"

#include <string>

namespace sluice::cli {

struct LocalFlags : SamplingFlags {
  LocalFlags() { timeout_s = 120; }  // imports of other people's libraries may be slow
  std::string cpus;
};
/// `flags` must outlive the parse.
void add_local_flags(CLI::App& command, LocalFlags& flags);

/// `out` and `name` are those of the run folder; --resume without `out` is refused.
Result<backend::LocalOptions> local_options(const Context& context, const LocalFlags& flags,
                                            const std::filesystem::path& out,
                                            const std::string& name);

/// report.md and report.html beside the results.
Status write_reports(const backend::LocalResult& run);

/// Interrupted: an Error that says how to go on; failed rows: invalid; else done.
Result<ExitCode> ending_of(const backend::LocalResult& run);

}  // namespace sluice::cli
