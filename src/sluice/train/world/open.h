// sluice/train/world/open.h - the ranks of a launcher, or ranks that are started here: by MPI or
// TCP.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/launcher.h"
#include "sluice/train/world/world.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::train {

/// As one of those that a launcher started: by MPI, or by TCP where the launcher tells MPI nothing.
Result<std::unique_ptr<World>> join_ranks(const LaunchedRank& launched,
                                          const WorldOptions& options);

/// Starts `size` - 1 others as `command`, which call join_starter(): by MPI, or by TCP where GPUs
/// train, which add up by NCCL. `device`: "cpu" or "cuda:N".
Result<std::unique_ptr<World>> start_ranks(int size, const std::string& device,
                                           const std::vector<std::string>& command,
                                           const WorldOptions& options);
Result<std::unique_ptr<World>> join_starter(const WorldOptions& options);

}  // namespace sluice::train
