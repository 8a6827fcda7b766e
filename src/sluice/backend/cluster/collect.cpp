// sluice/backend/cluster/collect.cpp - many small result files to those that the plan names.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/cluster/collect.h"

#include "sluice/core/text.h"
#include "sluice/measure/policy.h"
#include "sluice/measure/summary.h"
#include "sluice/results/resume.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::backend {
namespace {

namespace fs = std::filesystem;
using results::ResultFile;

std::string on_type(const std::string& type) {
  return type.empty() ? "" : fmt::format(" of node type {}", type);
}

Error not_done(const std::vector<int>& missing, std::size_t tasks, const std::string& type,
               const fs::path& folder) {
  std::string why;
  for (const int task : missing) {
    why = last_error(folder, task);
    if (why.empty()) continue;
    why = fmt::format("task {}: {}; ", task, printable(why));
    break;
  }
  return {Errc::measurement,
          fmt::format("{} of {} tasks{} are not done ({}); {}continue with --resume",
                      missing.size(), tasks, on_type(type), index_list(missing), why)};
}

/// Every case of the slice in every library, as a finished task leaves it.
Status check_rows(const ResultFile& file, const plan::Job& job, const fs::path& path) {
  for (const plan::Case& one : job.cases) {
    for (const std::string& library : job.row_libraries) {
      const bool there = std::any_of(file.rows.begin(), file.rows.end(), [&](const auto& row) {
        return row.case_name == one.name && row.library == library;
      });
      if (!there)
        return Error{Errc::measurement, fmt::format("{}: no row of {} in {}",
                                                    printable(path.string()), one.name, library)};
    }
  }
  return ok;
}

/// Whether the file of a task may stand in one table with that of the first.
Status check_alike(const ResultFile& first, const std::string& first_node, const ResultFile& file,
                   const std::string& node, int task) {
  if (first.machine_profile != file.machine_profile)
    return Error{
        Errc::invalid_input,
        fmt::format("task {} ran on {} ({}), task 0 on {} ({}): machines of two kinds are never "
                    "put in one table; name cluster.node_types",
                    task, printable(node), printable(file.machine_profile), printable(first_node),
                    printable(first.machine_profile))};
  ResultFile same = file;  // but for its transforms, which are those of its slice
  same.run_config["selection"]["transforms"] = first.run_config["selection"]["transforms"];
  return results::check_resumable(first, same, fmt::format("task {}", task));
}

/// Each task measured the canary: all its runs, in blocks of their own.
void pool_canary(std::vector<measure::Row>& pooled, const std::vector<measure::Row>& more) {
  for (const measure::Row& row : more) {
    const auto known = std::find_if(pooled.begin(), pooled.end(), [&](const measure::Row& one) {
      return one.case_name == row.case_name && one.library == row.library;
    });
    if (known == pooled.end()) {
      pooled.push_back(row);
      continue;
    }
    if (row.status != measure::RowStatus::ok) continue;
    if (known->status != measure::RowStatus::ok)
      *known = row;
    else
      known->runs.insert(known->runs.end(), row.runs.begin(), row.runs.end());
  }
}

void finish_canary(std::vector<measure::Row>& pooled) {
  for (measure::Row& row : pooled) {
    for (std::size_t i = 0; i < row.runs.size(); ++i)
      row.runs[i].block = static_cast<int>(i);
    measure::summarise(row, measure::Policy{}.unstable_cv);
  }
}

/// Rows in the order of the plan; by library within opencv's file.
void put_in_order(std::vector<measure::Row>& rows, const plan::Job& job) {
  const auto place = [&](const measure::Row& row) {
    const auto one = std::find_if(job.cases.begin(), job.cases.end(), [&](const plan::Case& item) {
      return item.name == row.case_name;
    });
    return std::make_pair(one - job.cases.begin(), row.library);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

}  // namespace

Result<std::vector<Marker>> markers_of_all(const Submission& submission, const fs::path& out,
                                           const std::string& type, std::int64_t num_runs) {
  const fs::path folder = folder_of_type(out, type);
  std::vector<Marker> markers;
  std::vector<int> missing;  // a task with failed rows is done: they are rows that say why
  for (int task = 0; task < submission.tasks(); ++task) {
    const auto marker = read_marker(folder, task);
    if (!marker || marker->num_runs < num_runs) missing.push_back(task);
    markers.push_back(marker.value_or(Marker{}));
  }
  if (missing.empty()) return markers;
  return not_done(missing, static_cast<std::size_t>(submission.tasks()), type, folder);
}

Result<std::vector<ResultFile>> collect(const plan::Plan& whole, const Submission& submission,
                                        const fs::path& out, const std::string& type) {
  const fs::path folder = folder_of_type(out, type);
  SLUICE_TRY(const std::vector<Marker> markers,
             markers_of_all(submission, out, type, whole.config.execution.num_runs));

  std::vector<ResultFile> files;
  std::vector<measure::Row> canary;
  Json tasks = Json::array();
  for (std::size_t t = 0; t < submission.slices.size(); ++t) {
    const int task = static_cast<int>(t);
    SLUICE_TRY(const plan::Plan part,
               plan::make_plan(config_of(whole.config, submission.slices[t])));
    for (std::size_t j = 0; j < part.jobs.size(); ++j) {
      const fs::path path = folder_of_task(folder, task) / "results" / part.jobs[j].output;
      SLUICE_TRY(ResultFile file, results::read(path));
      SLUICE_CHECK(check_rows(file, part.jobs[j], path));
      if (j == 0) {
        pool_canary(canary, file.canary);
        Json entry = {{"task", task}, {"session_id", file.session_id}};
        entry.update(markers[t].place);
        tasks.push_back(std::move(entry));
      }
      if (t == 0) {
        files.push_back(std::move(file));
        continue;
      }
      ResultFile& whole_file = files[j];
      SLUICE_CHECK(check_alike(whole_file, string_at(markers[0].place, "node"), file,
                               string_at(markers[t].place, "node"), task));
      std::move(file.rows.begin(), file.rows.end(), std::back_inserter(whole_file.rows));
      if (whole_file.matrix && file.matrix)
        std::move(file.matrix->published.begin(), file.matrix->published.end(),
                  std::back_inserter(whole_file.matrix->published));
    }
  }
  finish_canary(canary);
  for (std::size_t j = 0; j < files.size(); ++j) {
    ResultFile& file = files[j];
    put_in_order(file.rows, whole.jobs[j]);
    file.canary = canary;
    file.run_config = plan::to_json(whole.config);
    file.argv = submission.argv;
    file.session_id = files.front().session_id;
    file.environment["cluster"] = {
        {"backend", submission.backend}, {"node_type", type}, {"tasks", tasks}};
  }
  return files;
}

}  // namespace sluice::backend
