// sluice/plan/jobs.h - a run configuration as jobs: what each worker is asked and what file it
// fills.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/record.h"
#include "sluice/plan/run_config.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::plan {

/// One row of a job. The cases of all jobs of a plan have the same names in the same order, also
/// where a library lacks the transform: its worker then answers `unsupported`.
struct Case {
  std::string name;                           // row.case: "image-rgb/micro/Resize"
  std::string transform;                      // what is measured; "clip" in decode mode
  std::map<std::string, std::string> params;  // row.params
  Json spec;                                  // what `prepare` sends
  /// Known not to work: the row is not attempted and gets this status and reason.
  struct NotAttempted {
    measure::RowStatus status;
    std::string reason;
  };
  std::optional<NotAttempted> excluded;
};

/// One library in one regime: one result file.
struct Job {
  std::string scenario;
  Mode mode = Mode::micro;
  std::string library;
  std::vector<std::string> row_libraries;  // the rows of its file; opencv has two
  std::string group;                       // of requirements; empty: no environment
  std::string device;            // as asked for; none for a library that stays on the host
  std::string copy_to;           // where its batches are copied; empty: nowhere
  std::string backend;           // to_string(Backend)
  std::filesystem::path output;  // relative to results/
  std::string thread_policy;
  std::string unit;  // of rates: "img/s", "clips/s"
  std::vector<Case> cases;
  std::vector<std::string> command;  // of a worker that selection.peers brings
  std::vector<std::string> labels;   // what a table must say about its rows
  bool optional = false;             // a table is complete without it
};

struct Plan {
  RunConfig config;
  std::vector<Job> jobs;
  std::vector<std::filesystem::path> expected_outputs;  // relative to results/, in order of jobs
};

Result<Plan> make_plan(const RunConfig& config);

/// The file that `job` would fill with another number of runs: pipeline names hold it.
std::filesystem::path output_with_runs(const Job& job, const RunConfig& config,
                                       std::int64_t num_runs);

/// Row.case of a transform: in pipeline mode the recipe ends it.
std::string case_name(std::string_view scenario, Mode mode, std::string_view transform);
/// {output_dir, expected_outputs, jobs}; files relative to the run folder, cases by name.
Json to_json(const Plan& plan);

}  // namespace sluice::plan
