// sluice/cli/flags/run.h - the flags that `plan` and `run` share: a configuration and what replaces
// parts of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/plan/run_config.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::cli {

struct RunFlags {
  std::filesystem::path config;                // the first of them
  std::vector<std::filesystem::path> configs;  // as given; more than one for --backend gcp only
  plan::Overrides overrides;
  std::string libraries, transforms;  // comma lists as typed
  // Of `run` only:
  std::string backend;  // empty: by the configuration
  bool dry_run = false;
  bool attached = false, detached = false;
  std::string quota, zones;                    // as typed
  std::vector<std::filesystem::path> bundles;  // archives with the program
};

/// Adds --config (required) and the overrides. `flags` must outlive the parse.
void add_run_flags(CLI::App& command, RunFlags& flags);

/// Adds what chooses the machine that `run` measures on.
void add_backend_flags(CLI::App& command, RunFlags& flags);

/// local or gcp, and so on: --backend, --local, or what the configuration says.
Result<std::string> chosen_backend(const RunFlags& flags, const Globals& globals);

/// Reads the file, puts the flags over it (--out and --seed of `globals` among them), checks all.
Result<plan::RunConfig> load_config(const RunFlags& flags, const Globals& globals);

}  // namespace sluice::cli
