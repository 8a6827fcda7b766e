// sluice/cli/backends/command.h - `--backend slurm` and `--backend k8s` of commands that measure on
// one node: `bench ...` and `gate`; and of a study, repeat by repeat.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"

#include <string>
#include <vector>

namespace sluice::cli {

/// Gives --backend, --set, --dry-run and --wait to `gate` and all of `bench` that were added so
/// far. Those that cannot be continued get --resume for their jobs.
void add_command_backends(Context& context);

/// What a job is to run: `argv` without the program and without what is said of the job itself.
std::vector<std::string> words_of_job(const std::vector<std::string>& argv);

}  // namespace sluice::cli
