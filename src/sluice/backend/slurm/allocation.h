// sluice/backend/slurm/allocation.h - tasks as steps of an allocation that is held already.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/slurm/scripts.h"
#include "sluice/core/progress.h"

#include <string>
#include <vector>

namespace sluice::backend {

/// Every missing task of node type `type` by `srun`, one at a time on each node of the allocation;
/// what they print goes to logs/. A task that fails does not stop the others: what it left undone
/// is found when the results are collected. Errc::interrupted on Ctrl-C, when all steps have ended.
Status run_in_allocation(const ScriptContext& context, const std::string& type,
                         const std::vector<int>& tasks, const std::string& search_path,
                         Progress& progress);

}  // namespace sluice::backend
