// sluice/visit/training/profile.h - the pass with a profiler that may follow a measured one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/training_metrics.h"
#include "sluice/visit/training/plan.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::visit {

struct ProfilePass {
  std::vector<std::string> files;  // relative to the folder
  /// What took longest: kernels of a GPU whose trace could be had, else ops.
  std::vector<results::ProfiledWork> kernels, ops;
};

/// A fresh engine of the plan's first batch and type, its batches from where the measured ones
/// came; traces under `folder`/profile, on a GPU with gpu.json, its kernels.
Result<ProfilePass> profile_pass(const TrainingPlan& plan, const std::filesystem::path& folder);

/// How much of the GPU's memory bandwidth a step of the measured row takes, by counters of the
/// hardware: steps of a fresh engine over a batch that lies there. Where they cannot be read, the
/// figure has the reason.
void count_hardware(const TrainingPlan& plan, results::TrainingMetrics& metrics);

}  // namespace sluice::visit
