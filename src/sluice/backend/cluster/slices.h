// sluice/backend/cluster/slices.h - a plan in slices, each a task of a cluster: pure functions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/plan/run_config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::backend {

/// The transforms of one task. A case is never divided: one node measures it in all libraries, in
/// turns. Empty in decode mode, whose one case is the whole plan.
using Slice = std::vector<std::string>;

/// Every transform of the plan once, in its order, `cases_per_task` at a time.
std::vector<Slice> slices_of(const plan::RunConfig& config, std::int64_t cases_per_task);

/// What a task is to measure: `config` with these transforms alone.
plan::RunConfig config_of(const plan::RunConfig& config, const Slice& slice);

/// How Slurm writes a set of tasks: "0-3,7". `indices` ascend.
std::string index_list(const std::vector<int>& indices);

}  // namespace sluice::backend
