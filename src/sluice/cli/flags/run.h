// sluice/cli/flags/run.h - the flags that `plan` and `run` share: a configuration and what replaces
// parts of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/plan/run_config.h"

#include <filesystem>
#include <string>

namespace sluice::cli {

struct RunFlags {
  std::filesystem::path config;
  plan::Overrides overrides;
  std::string libraries, transforms;  // comma lists as typed
  std::string backend;                // empty: this machine, or what the configuration names
  bool dry_run = false;
};

/// Adds --config (required) and the overrides. `flags` must outlive the parse.
void add_run_flags(CLI::App& command, RunFlags& flags);

/// Adds --backend and --dry-run: where `run` carries the plan out.
void add_backend_flags(CLI::App& command, RunFlags& flags);

/// Reads the file, puts the flags over it (--out and --seed of `globals` among them), checks all.
Result<plan::RunConfig> load_config(const RunFlags& flags, const Globals& globals);

}  // namespace sluice::cli
