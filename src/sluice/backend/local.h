// sluice/backend/local.h - carries a plan out on this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"
#include "sluice/measure/cpu_list.h"
#include "sluice/measure/worker/worker.h"
#include "sluice/plan/jobs.h"
#include "sluice/results/result_file.h"
#include "sluice/results/run_folder.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::backend {

struct LocalOptions {
  std::filesystem::path out;  // empty: runs/<utc>-<name>-<profile>
  std::string name = "run";   // of the folder
  bool resume = false;
  bool canary = true;
  double min_sample_ms = 100;  // micro and decode; a pipeline sample is an epoch
  double warmup_ms = 50;
  double step_timeout_s = 120;
  measure::CpuList cpus;
  int threads = 1;  // of the thread policy micro-threads
  std::vector<std::string> argv;
  std::filesystem::path semantics;  // adapters/semantics.json; empty or missing: no remarks
};

struct LocalResult {
  std::filesystem::path folder;
  std::vector<results::ResultFile> files;  // one per job of the plan
  bool interrupted = false;
  int kept_cases = 0;       // finished by an earlier visit
  int continued_cases = 0;  // had runs of an earlier visit, and got those that were missing
};

/// Media, workers, every case over all libraries, one result file per job written after every case.
/// Libraries and devices that are not here give `unsupported` rows in the same files. The folder is
/// locked meanwhile. Reports are left to the caller.
Result<LocalResult> run_local(const plan::Plan& plan, const LocalOptions& options,
                              Progress& progress);

}  // namespace sluice::backend
