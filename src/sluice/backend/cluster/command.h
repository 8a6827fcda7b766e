// sluice/backend/cluster/command.h - a task that is a command of this program: run on its node, to
// its end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/cluster/folder.h"
#include "sluice/core/process/process.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::backend {

/// The exit code of a process. When this one is asked to end, that one is, and then killed.
Result<int> run_to_end(const ProcessOptions& options);

/// Its arguments with the flag --out behind the words that name the command, and `more`.
std::vector<std::string> with_out(const std::vector<std::string>& words,
                                  const std::filesystem::path& out,
                                  const std::vector<std::string>& more = {});

/// What task `task` prints and complains of: tasks/0007.out, tasks/0007.err.
std::filesystem::path printed_by_task(const std::filesystem::path& type_folder, int task);
std::filesystem::path complaints_of_task(const std::filesystem::path& type_folder, int task);

/// Runs the command of a task in its folder, and gives its exit code. What an attempt left that was
/// killed is continued where the command can; else it is moved aside (tasks/0007.1), and begun
/// anew.
Result<int> run_command_task(const std::filesystem::path& program, const Submission& submission,
                             const std::filesystem::path& type_folder, int task);

}  // namespace sluice::backend
