// sluice/cli/backends/cluster.h - what `run` on any cluster shares: the submission of a plan, and
// the end of one node type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/cluster/folder.h"
#include "sluice/cli/backends/backends.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::cli {

/// Of a configuration on a cluster; a cloud section of the file is ignored.
Result<plan::RunConfig> load_cluster_config(const RunFlags& flags, const Globals& globals);

/// The plan in tasks, not yet in any folder. Errc::usage: more tasks than an array may have.
Result<backend::Submission> new_submission(const plan::RunConfig& config,
                                           const LocalFlags& sampling, const Context& context,
                                           const std::string& backend);

/// Files of `plan`, one per job: an Error names the first that must not be believed, and why.
Status check_sound(const std::vector<results::ResultFile>& files, const plan::Plan& plan);

/// Collects the results of one node type into its folder: files, reports, marker. Invalid when a
/// row failed.
Result<ExitCode> collect_type(const plan::RunConfig& config, const backend::Submission& submission,
                              const std::filesystem::path& out, const std::string& type);

}  // namespace sluice::cli
