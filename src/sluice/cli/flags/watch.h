// sluice/cli/flags/watch.h - the flags that name a user's program and what a step of it counts, for
// `watch` and `gate --watch`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/visit/watch/run.h"

#include <string>
#include <vector>

namespace sluice::cli {

/// CMD..., --samples-per-step, --tokens-per-step, --name. `when`: put before their texts.
void add_watched_program(CLI::App& command, visit::WatchPlan& plan, const std::string& when = "");

/// The program is there and the name is one; its first word becomes a path. `usage`: a command line
/// that names one, for who named none.
Result<visit::WatchPlan> checked_watch_plan(visit::WatchPlan plan, const std::string& usage);

/// `sluice watch` with this plan as a command for /bin/sh, to write into the folder {out}.
Result<std::string> watch_command(const visit::WatchPlan& plan);

}  // namespace sluice::cli
