// sluice/backend/slurm/submit.cpp - markers and queue in, jobs out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/slurm/submit.h"

#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice::backend {
namespace {

namespace fs = std::filesystem;

constexpr double kOtherSubmissionS = 60;

/// logs/NAME.1.sbatch, then .2 and so on: the scripts of earlier submissions stay.
fs::path new_script(const ScriptContext& context, const std::string& name) {
  std::error_code code;
  for (int n = 1;; ++n) {
    const fs::path path = context.out / "logs" / fmt::format("{}.{}.sbatch", name, n);
    if (!fs::exists(path, code)) return path;
  }
}

BatchStep array_step(const ScriptContext& context, const std::string& type,
                     const std::vector<int>& tasks) {
  const fs::path path = new_script(context, array_name(*context.submission, type));
  return {path, array_script(context, type, tasks), sbatch_command(path, {})};
}

BatchStep collect_step(const ScriptContext& context, const std::string& type,
                       const std::vector<std::string>& after) {
  const fs::path path = new_script(context, collect_name(*context.submission, type));
  return {path, collect_script(context, type), sbatch_command(path, after)};
}

Result<std::string> submit(const BatchStep& step, const SlurmClient& client) {
  SLUICE_CHECK(write_file_atomic(step.script, step.text));
  return client.submit(step.command);
}

/// Or there is nothing to collect.
bool collected(const ScriptContext& context, const std::string& type) {
  if (!context.submission->collects()) return true;
  std::error_code code;
  return fs::exists(marker_of_collect(folder_of_type(context.out, type)), code);
}

/// What the queue holds of one node type.
struct Queue {
  std::set<int> tasks;
  std::vector<std::string> arrays;
  std::vector<std::string> collectors;
};

Result<Queue> queue_of(const ScriptContext& context, const std::string& type,
                       const SlurmClient& client) {
  const std::string array = array_name(*context.submission, type);
  const std::string collector = collect_name(*context.submission, type);
  SLUICE_TRY(const std::vector<QueuedJob> jobs, client.queued({array, collector}));
  Queue queue;
  for (const QueuedJob& job : jobs) {
    if (job.name == collector) queue.collectors.push_back(job.id);
    if (job.name != array || !job.task) continue;
    queue.tasks.insert(*job.task);
    if (std::find(queue.arrays.begin(), queue.arrays.end(), job.id) == queue.arrays.end())
      queue.arrays.push_back(job.id);
  }
  return queue;
}

Result<TypeSubmission> submit_type(const ScriptContext& context, const std::string& type,
                                   const SlurmClient& client) {
  TypeSubmission done;
  done.type = type;
  const fs::path folder = folder_of_type(context.out, type);
  // The queue first: a task that ends in between has its marker when the markers are read.
  SLUICE_TRY(const Queue queue, queue_of(context, type, client));
  SLUICE_TRY(const std::vector<int> missing,
             missing_tasks(folder, *context.submission, *context.config));
  for (const int task : missing)
    (queue.tasks.count(task) > 0 ? done.in_queue : done.tasks).push_back(task);
  done.complete = missing.empty() && collected(context, type);
  if (done.complete) return done;

  std::vector<std::string> after = queue.arrays;
  if (!done.tasks.empty()) {
    std::error_code code;
    fs::remove(marker_of_collect(folder), code);
    for (const std::string& id : queue.collectors)  // it would look too early
      SLUICE_CHECK(client.cancel(id));
    done.steps.push_back(array_step(context, type, done.tasks));
    SLUICE_TRY(done.array_job, submit(done.steps.back(), client));
    after.push_back(done.array_job);
  } else if (!queue.collectors.empty()) {
    return done;  // it waits, or runs
  }
  if (!context.submission->collects()) return done;
  done.steps.push_back(collect_step(context, type, after));
  SLUICE_TRY(done.collect_job, submit(done.steps.back(), client));
  return done;
}

}  // namespace

Result<std::vector<TypeSubmission>> show_submission(const ScriptContext& context) {
  std::vector<TypeSubmission> all;
  for (const std::string& type : context.submission->node_types) {
    TypeSubmission one;
    one.type = type;
    SLUICE_TRY(one.tasks, missing_tasks(folder_of_type(context.out, type), *context.submission,
                                        *context.config));
    one.complete = one.tasks.empty() && collected(context, type);
    if (!one.tasks.empty()) one.steps.push_back(array_step(context, type, one.tasks));
    if (!one.complete && context.submission->collects())
      one.steps.push_back(collect_step(
          context, type,
          one.tasks.empty() ? std::vector<std::string>() : std::vector<std::string>{"JOBID"}));
    all.push_back(std::move(one));
  }
  return all;
}

Result<std::vector<TypeSubmission>> submit_missing(const ScriptContext& context,
                                                   const SlurmClient& client) {
  SLUICE_CHECK(create_folders(context.out / "logs"));
  LockWait wait;
  wait.limit_s = kOtherSubmissionS;
  SLUICE_TRY(const FileLock lock,
             FileLock::take(context.out / "logs" / ".submit.lock", shown(context.out), wait));
  std::vector<TypeSubmission> all;
  for (const std::string& type : context.submission->node_types) {
    SLUICE_TRY(TypeSubmission one, submit_type(context, type, client));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace sluice::backend
