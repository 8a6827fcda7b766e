// sluice/backend/cluster/folder.h - the folder of a run on a cluster: what was asked, what is done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/cluster/slices.h"
#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/plan/jobs.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::backend {

/// submission.json: what tasks, the collecting job and --resume must agree on. The configuration
/// of a plan lies beside it, in resolved_config.yaml; tasks of another command are commands.
struct Submission {
  std::string backend;                  // "slurm", "k8s"
  std::string token;                    // part of the names of its jobs, and of no other's
  std::vector<std::string> node_types;  // never empty; "" is the one without a name
  std::vector<Slice> slices;            // by task, of a plan
  std::filesystem::path work_folder;    // where the program was started: relative paths are from it
  std::vector<std::string> argv;        // the command that repeats this run
  double sample_ms = 100, warmup_ms = 50, timeout_s = 120;
  std::string cpus;  // as --cpus gives them; empty: all
  /// By task, instead of slices: arguments of the program, but for --out.
  std::vector<std::vector<std::string>> commands{};
  bool continues = false;  // they take --resume
  /// What puts their results together, in the folder of a node type; empty: there is nothing to.
  std::vector<std::string> collect_command{};

  [[nodiscard]] int tasks() const;
  [[nodiscard]] bool collects() const { return commands.empty() || !collect_command.empty(); }
  /// What a task measures, for people.
  [[nodiscard]] std::string describe(int task) const;
};
Json to_json(const Submission& submission);
Result<Submission> read_submission(const std::filesystem::path& out);
Status write_submission(const std::filesystem::path& out, const Submission& submission);

/// The run folder of one node type: results/, report.md, and of every task tasks/0007/ and, once
/// its files are complete, done/0007.json.
std::filesystem::path folder_of_type(const std::filesystem::path& out, const std::string& type);
std::filesystem::path folder_of_task(const std::filesystem::path& type_folder, int task);
std::filesystem::path marker_of_task(const std::filesystem::path& type_folder, int task);
std::filesystem::path marker_of_collect(const std::filesystem::path& type_folder);

/// Where this process runs: variables of Slurm or Kubernetes that are set, and the node's name.
Json place_here();
/// The name of this machine as the cluster knows it.
std::string node_here();

/// One line of tasks/0007.jsonl: a task that began, or how it ended. A task that is killed leaves
/// no end.
Status note_attempt(const std::filesystem::path& type_folder, int task, const Json& line);
/// Why the last attempt ended badly; empty: it left no word, or never began.
std::string last_error(const std::filesystem::path& type_folder, int task);

/// Says that a task is done: every row is there. Failed rows are counted, and measured again by
/// --resume.
struct Marker {
  int task = 0;
  std::int64_t num_runs = 0;  // per row
  std::int64_t failed_rows = 0;
  std::string machine_profile;
  Json place;
  int exit_code = 0;  // of a command; its failed rows count as one
};
Status write_marker(const std::filesystem::path& type_folder, const Marker& marker);
/// Nothing: there is none, or none that can be read.
std::optional<Marker> read_marker(const std::filesystem::path& type_folder, int task);

/// Whether nothing is left of a task, but perhaps its files.
bool is_done(const std::optional<Marker>& marker, const Submission& submission,
             const plan::RunConfig& config);

/// What --resume submits: tasks without a marker, with fewer runs than are planned now, with failed
/// rows, or whose files are gone. In ascending order.
Result<std::vector<int>> missing_tasks(const std::filesystem::path& type_folder,
                                       const Submission& submission, const plan::RunConfig& config);

/// Makes the folder, and waits while a process that is being ended still holds its lock.
Status wait_until_free(const std::filesystem::path& folder, double limit_s);

}  // namespace sluice::backend
