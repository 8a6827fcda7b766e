// sluice/visit/training/profile.h - the pass with a profiler that may follow a measured one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/training/plan.h"

#include <filesystem>

namespace sluice::visit {

/// A fresh engine of the plan's first batch and type, its batches from where the measured ones
/// came; traces under `folder`/profile, on a GPU with gpu.json, its kernels. Returns the files,
/// relative to `folder`.
Result<std::vector<std::string>> profile_pass(const TrainingPlan& plan,
                                              const std::filesystem::path& folder);

}  // namespace sluice::visit
