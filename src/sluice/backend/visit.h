// sluice/backend/visit.h - one visit to this machine: what is known before the first sample.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/env/profile.h"
#include "sluice/results/result_file.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::backend {

struct VisitOptions {
  std::filesystem::path storage = ".";  // whose file system is described
  env::ProfileDevice device = env::ProfileDevice::cpu;
  std::vector<std::string> argv{};
  bool check_noise = true;  // false: the caller does it later
  /// What computes, as its versions: "2.15.0+cu130", "13.0"; empty: we do, by the driver's CUDA.
  std::string torch_version{}, cuda_version{};
};

/// Program, machine, noise, profile, session and command line; run_config, dataset, timing and rows
/// are left to the caller. Findings of the noise check are logged.
Result<results::ResultFile> begin_visit(const VisitOptions& options);

/// Is the machine quiet? Keeps one core busy for under half a second.
void check_noise(results::ResultFile& file);

/// The profile alone, which names the run folder.
Result<std::string> profile_of_visit(const VisitOptions& options);

}  // namespace sluice::backend
