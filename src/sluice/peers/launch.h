// sluice/peers/launch.h - how a library's worker is started: program, variables, what it is keyed
// by.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/peers/places.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::peers {

struct WorkerCommand {
  std::vector<std::string> command;
  /// Added to ours. Thread variables of the policy, everything that phones home off, and what must
  /// not be inherited set to nothing.
  std::map<std::string, std::string> environment;
  std::string lock_hash;  // another one is another worker
};

/// `mode`: micro, jpeg, pipeline, decode, loader, training or mixture. `thread_policy`:
/// micro-single, micro-threads, pipeline-default, pipeline-single-worker or loader-all-cores.
/// Errc::unsupported with a command to run when the environment is not installed or the program is
/// not built, or when the library is not measured in this mode.
Result<WorkerCommand> worker_command(const std::string& library, const std::string& mode,
                                     const std::string& thread_policy);
Result<WorkerCommand> worker_command(const Places& places, const std::string& library,
                                     const std::string& mode, const std::string& thread_policy);

/// What a worker gets on top of our environment, given as "NAME=value" entries. `python`: also what
/// keeps Python to its own packages.
std::map<std::string, std::string> worker_variables(const std::vector<std::string>& inherited,
                                                    std::string_view thread_policy, bool python);

/// A worker program that is built, not installed: beside ours, in bench/ beside ours, or in
/// <prefix>/libexec/sluice. Empty when it is nowhere.
std::filesystem::path find_native_worker(const Places& places, std::string_view name);

}  // namespace sluice::peers
