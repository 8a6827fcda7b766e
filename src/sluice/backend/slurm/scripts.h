// sluice/backend/slurm/scripts.h - what is given to sbatch, as text: pure functions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/cluster/folder.h"
#include "sluice/core/result.h"
#include "sluice/plan/run_config.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::backend {

/// What every script of a run needs to know.
struct ScriptContext {
  std::filesystem::path program;            // absolute
  std::filesystem::path out;                // absolute
  const plan::RunConfig* config = nullptr;  // of a command its cluster and slurm alone
  const Submission* submission = nullptr;
};

/// Job names: of the array, and of what collects it.
std::string array_name(const Submission& submission, const std::string& type);
std::string collect_name(const Submission& submission, const std::string& type);

/// Errc::usage for a path that a script or a pattern of sbatch cannot hold.
Status check_script_path(const std::filesystem::path& path);

/// One array job: a task per index, each continued where it was when Slurm puts it back in the
/// queue.
std::string array_script(const ScriptContext& context, const std::string& type,
                         const std::vector<int>& tasks);
/// Puts the results of all tasks together; measures nothing.
std::string collect_script(const ScriptContext& context, const std::string& type);

/// `afterany`, not `afterok`: where a task failed, the collecting job says which, instead of
/// waiting for ever. No job: no dependency.
std::vector<std::string> sbatch_command(const std::filesystem::path& script,
                                        const std::vector<std::string>& after);

/// What a task runs; `srun` inside an allocation starts the same.
std::vector<std::string> task_command(const ScriptContext& context, const std::string& type,
                                      int task);

/// As a shell reads it.
std::string shell_word(const std::string& word);

}  // namespace sluice::backend
