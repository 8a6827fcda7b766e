// sluice/backend/cluster/collect.h - the result files of all tasks of one node type as those of the
// plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/cluster/folder.h"
#include "sluice/results/result_file.h"

#include <string>
#include <vector>

namespace sluice::backend {

/// One file per job of `plan`, rows in its order. Refused, naming tasks: one that is not done (with
/// what it last said), a row that is missing, and tasks whose numbers cannot stand in one table
/// because machine, program, data or configuration differ. Reads only.
Result<std::vector<results::ResultFile>> collect(const plan::Plan& plan,
                                                 const Submission& submission,
                                                 const std::filesystem::path& out,
                                                 const std::string& type);

/// Those of all tasks. Errc::measurement, naming the tasks that have no marker of `num_runs` runs,
/// and what the first of them last said.
Result<std::vector<Marker>> markers_of_all(const Submission& submission,
                                           const std::filesystem::path& out,
                                           const std::string& type, std::int64_t num_runs);

}  // namespace sluice::backend
