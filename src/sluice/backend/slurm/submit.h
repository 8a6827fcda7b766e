// sluice/backend/slurm/submit.h - puts exactly what is missing of a run into the queue of Slurm.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/slurm/client.h"
#include "sluice/backend/slurm/scripts.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::backend {

/// A script, and the command that submits it.
struct BatchStep {
  std::filesystem::path script;
  std::string text;
  std::vector<std::string> command;
};

/// What was, or would be, submitted for one node type.
struct TypeSubmission {
  std::string type;
  std::vector<int> tasks;     // submitted now
  std::vector<int> in_queue;  // missing, but waiting or running since an earlier submission
  std::string array_job;      // empty: no task was submitted
  std::string collect_job;    // empty: none was needed, or one waits already
  bool complete = false;      // all measured and collected: nothing was to be done
  std::vector<BatchStep> steps;
};

/// Without a queue: what a submission would write and call. `JOBID` stands for the array's number.
Result<std::vector<TypeSubmission>> show_submission(const ScriptContext& context);

/// Writes scripts under logs/ and submits them: of every node type one array of the tasks that are
/// neither done nor queued, and one job that collects when they, and those before, have ended.
/// One process at a time.
Result<std::vector<TypeSubmission>> submit_missing(const ScriptContext& context,
                                                   const SlurmClient& client);

}  // namespace sluice::backend
