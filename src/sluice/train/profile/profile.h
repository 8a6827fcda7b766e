// sluice/train/profile/profile.h - runs an engine by a schedule while it is observed, and leaves
// the traces: a pass of its own, never the one that is measured (docs/profiling.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/engine.h"
#include "sluice/train/profile/device_record.h"
#include "sluice/train/profile/schedule.h"
#include "sluice/train/profile/step_trace.h"

#include <filesystem>
#include <functional>
#include <vector>

namespace sluice::train {

/// The next micro-batch, valid until the next call; the time it takes is the region `data`.
using BatchSource = std::function<Result<BatchView>()>;

struct ProfileOutput {
  bool chrome = true;       // <folder>/profile/chrome/trace.json
  bool tensorboard = true;  // <folder>/profile/tb/sluice.<unix ms>.pt.trace.json, one per cycle
  /// What ran on a GPU: further rows of the Chrome trace, and a file of its own for TensorBoard,
  /// sluice_kernels.<unix ms>.pt.trace.json.
  std::vector<DeviceStep> device;
};

struct ProfileFiles {
  std::filesystem::path chrome;                    // empty: not asked for
  std::vector<std::filesystem::path> tensorboard;  // one per cycle, then that of the kernels
  ProfileSummary summary;
};

/// Runs schedule.steps() steps of engine.config().grad_accum micro-steps each, updates included, so
/// weights move on. An empty `next`: the batch that the engine already holds is used again. The
/// engine is not observed and not timed afterwards.
Result<ProfileFiles> profile_steps(Engine& engine, const BatchSource& next,
                                   const ProfileSchedule& schedule,
                                   const std::filesystem::path& folder,
                                   const ProfileOutput& output = {});

}  // namespace sluice::train
