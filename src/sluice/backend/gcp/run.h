// sluice/backend/gcp/run.h - carries plans out on machines of Google Cloud, and leaves none behind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/gcp/machine.h"
#include "sluice/core/result.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::backend::gcp {

struct GcpOptions {
  std::filesystem::path out;  // empty: runs/<utc>-<name>-gcp
  std::string name = "gcp";   // of the folder
  bool resume = false;        // collect what a detached run left running; go on where one stopped
  bool attached = true;       // false: start a wave and leave
  Quota quota;
  std::vector<std::string> more_zones;         // where the first has no machine left
  std::vector<std::filesystem::path> bundles;  // archives with the program
  std::vector<std::string> run_flags, argv;    // VisitFacts
  /// Are the result files of a plan in this folder all there, and sound?
  std::function<Status(const std::filesystem::path& folder, const plan::Plan& plan)> check;
};

enum class TaskState {
  not_started,
  already_finished,  // by an earlier run: no machine was made
  running,           // detached
  finished,
  failed_rows,  // complete and sound, but some rows failed
  timed_out,
  failed,
};
const char* to_string(TaskState state);

struct TaskResult {
  std::string name, instance, zone, machine_type, prefix;
  TaskState state = TaskState::not_started;
  std::string reason;  // of a failure
  std::filesystem::path folder;
};

struct GcpResult {
  std::filesystem::path folder;
  std::vector<TaskResult> tasks;   // in the order of the tasks
  std::size_t waves = 0;           // that were planned
  std::vector<std::string> swept;  // left by dead sessions, deleted
  std::vector<std::string> left;   // may still be there, with the reason
  bool interrupted = false;
};

/// One project for all machines of a visit, a name of its own and something to measure for each
/// task.
Status check_together(const std::vector<Task>& tasks);

/// Sweep, upload, create, wait, pull, validate, delete; wave after wave until one has a failure.
/// Every machine that this made is deleted in every path, unless cloud.keep_* asks otherwise. An
/// Error comes before anything was made.
Result<GcpResult> run_gcp(const std::vector<Task>& tasks, const GcpOptions& options);

/// What a run would do.
struct Preview {
  struct One {
    const Task* task = nullptr;
    Machine machine;
    std::vector<Call> calls;
  };
  std::vector<Call> before;  // once per visit
  std::vector<std::vector<One>> waves;
  std::vector<Load> loads;            // of the waves
  std::vector<std::string> finished;  // tasks that need no machine
};
/// Asks nobody and makes nothing. Run ids are made of the names of the tasks.
Result<Preview> preview(const std::vector<Task>& tasks, const GcpOptions& options);

}  // namespace sluice::backend::gcp
