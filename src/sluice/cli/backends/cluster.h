// sluice/cli/backends/cluster.h - what is shared by all that runs on a cluster: the submission of a
// plan or command, and the end of one node type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/cluster/folder.h"
#include "sluice/backend/slurm/submit.h"
#include "sluice/cli/backends/backends.h"

#include <filesystem>
#include <optional>
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

/// What names of jobs hold, different for every submission; `about` says what it is of.
std::string new_token(const std::string& about);

/// Collects the results of one node type into its folder: files, reports, marker. Invalid when a
/// row failed. Of a command that has nothing to collect: nothing.
Result<ExitCode> collect_type(const plan::RunConfig& config, const backend::Submission& submission,
                              const std::filesystem::path& out, const std::string& type);

/// What is handed to Slurm.
struct SlurmOrder {
  const plan::RunConfig& config;  // of a command its cluster and slurm alone
  backend::Submission planned;
  std::filesystem::path out;  // empty: a new folder that `name` is part of
  std::string name;
  bool resume = false;
  bool dry_run = false;
};
struct HandedToSlurm {
  backend::Submission submission;
  std::filesystem::path out;
  std::vector<backend::TypeSubmission> types;
  std::optional<ExitCode> ended;  // inside an allocation, where tasks were steps
};
/// Submits what is missing, or measures it step by step inside an allocation. With dry_run it
/// prints scripts, and there is nothing to be given.
Result<std::optional<HandedToSlurm>> hand_to_slurm(const Context& context, const SlurmOrder& order);
/// What was submitted, for people or as JSON.
void show_submitted(const Context& context, const HandedToSlurm& handed);

/// Manifests are written, and nothing is submitted or continued here.
Status check_k8s_flags(bool dry_run, bool resume);
/// Prints the Indexed Jobs of a submission, and writes them to k8s.yaml of --out. The run is in a
/// folder of the volume, named as the last part of `out`; the same `about` gives the same names of
/// objects.
Result<ExitCode> write_manifest(const Context& context, const plan::RunConfig& config,
                                backend::Submission submission, const std::filesystem::path& out,
                                const std::string& about);

}  // namespace sluice::cli
