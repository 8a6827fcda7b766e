// sluice/backend/file_set.cpp - which rows are kept, where new ones go, what is written.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/file_set.h"

#include "sluice/core/text.h"
#include "sluice/results/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace sluice::backend {

namespace fs = std::filesystem;

namespace {

/// The file of `job` where an earlier visit left it, perhaps under the name of fewer runs. Nothing:
/// there is none.
Result<std::optional<fs::path>> earlier_file(const results::RunFolder& folder, const plan::Job& job,
                                             const plan::RunConfig& config) {
  const fs::path path = folder.results() / job.output;
  std::error_code code;
  if (fs::exists(path, code)) return std::optional(path);
  for (std::int64_t runs = plan::kMaxRuns; runs > 0; --runs) {
    const fs::path before = folder.results() / plan::output_with_runs(job, config, runs);
    if (!fs::exists(before, code)) continue;
    if (runs > config.execution.num_runs)
      return Error{Errc::usage,
                   fmt::format("{}: cannot be resumed: execution.num_runs was {} and "
                               "is now {}; as many or more are accepted",
                               printable(before.string()), runs, config.execution.num_runs)};
    return std::optional(before);
  }
  return std::optional<fs::path>();
}

Status give_name(const fs::path& path, const fs::path& name) {
  std::error_code code;
  if (path != name) fs::rename(path, name, code);
  if (!code) return ok;
  return Error{Errc::io, fmt::format("{}: cannot be renamed to {}: {}", printable(path.string()),
                                     name.filename().string(), code.message())};
}

/// Known not to work there, hence never attempted.
bool is_excluded(const plan::Plan& plan, const measure::Row& row) {
  for (const plan::Job& job : plan.jobs) {
    if (std::ranges::find(job.row_libraries, row.library) == job.row_libraries.end()) continue;
    const auto one = std::ranges::find(job.cases, row.case_name, &plan::Case::name);
    return one != job.cases.end() && one->excluded.has_value();
  }
  return false;
}

bool says_its_last(const plan::Plan& plan, const measure::Row& row) {
  return row.status == measure::RowStatus::ok || row.status == measure::RowStatus::early_stopped ||
         row.status == measure::RowStatus::unsupported || is_excluded(plan, row);
}

}  // namespace

Result<FileSet> FileSet::open(const results::RunFolder& folder, const plan::Plan& plan,
                              const results::ResultFile& head) {
  FileSet set(folder, plan);
  std::vector<std::pair<fs::path, fs::path>> names;  // renamed once all may be continued
  for (const plan::Job& job : plan.jobs) {
    results::ResultFile file = head;
    std::optional<fs::path> path;
    if (folder.resumed()) {
      SLUICE_TRY(path, earlier_file(folder, job, plan.config));
    }
    if (path) {
      SLUICE_TRY(results::ResultFile earlier, results::read(*path));
      SLUICE_CHECK(results::check_resumable(earlier, head, path->string()));
      file = std::move(earlier);
      file.run_config = head.run_config;  // the same, or with more runs
      names.emplace_back(*path, folder.results() / job.output);
    }
    set.files_.push_back(std::move(file));
  }
  for (const auto& [path, name] : names)
    SLUICE_CHECK(give_name(path, name));
  // Files of one session carry one seed and one session id: those of the first visit.
  const auto earlier = std::find_if(set.files_.begin(), set.files_.end(), [&](const auto& file) {
    return file.session_id != head.session_id;
  });
  std::set<std::string> kept;
  for (const plan::Case& one : plan.jobs.front().cases) {
    if (set.finished(one.name) || !set.so_far(one.name).empty()) kept.insert(one.name);
  }
  for (results::ResultFile& file : set.files_) {
    if (earlier != set.files_.end()) {
      file.session_id = earlier->session_id;
      file.block_order_seed = earlier->block_order_seed;
      file.canary = earlier->canary;
    }
    file.rows.erase(
        std::remove_if(file.rows.begin(), file.rows.end(),
                       [&](const measure::Row& row) { return kept.count(row.case_name) == 0; }),
        file.rows.end());
  }
  return set;
}

std::vector<std::string> FileSet::libraries() const {
  std::vector<std::string> names;
  for (const plan::Job& job : plan_->jobs)
    names.insert(names.end(), job.row_libraries.begin(), job.row_libraries.end());
  return names;
}

bool FileSet::finished(const std::string& case_name) const {
  return finished(case_name, libraries());
}

bool FileSet::finished(const std::string& case_name,
                       const std::vector<std::string>& libraries) const {
  std::set<results::CaseAndLibrary> done;
  for (const results::ResultFile& file : files_) {
    done.merge(results::finished_cases(file));
    for (const measure::Row& row : file.rows)
      if (row.status == measure::RowStatus::ok &&
          static_cast<std::int64_t>(row.runs.size()) < planned_runs())
        done.erase({row.case_name, row.library});
  }
  for (const plan::Job& job : plan_->jobs) {  // what is never attempted is finished, too
    for (const plan::Case& one : job.cases) {
      if (one.name != case_name || !one.excluded) continue;
      for (const std::string& library : job.row_libraries)
        done.emplace(case_name, library);
    }
  }
  return results::is_finished(done, case_name, libraries);
}

std::vector<measure::Row> FileSet::so_far(const std::string& case_name) const {
  std::vector<measure::Row> rows;
  std::optional<std::size_t> runs;  // of every row that is ok
  for (const results::ResultFile& file : files_) {
    for (const measure::Row& row : file.rows) {
      if (row.case_name != case_name) continue;
      if (!says_its_last(*plan_, row)) return {};
      if (row.status == measure::RowStatus::ok) {
        if (runs.value_or(row.runs.size()) != row.runs.size()) return {};
        runs = row.runs.size();
      }
      rows.push_back(row);
    }
  }
  const bool all_there = rows.size() == libraries().size();
  const bool some_missing = runs && static_cast<std::int64_t>(*runs) < planned_runs();
  return all_there && some_missing ? rows : std::vector<measure::Row>();
}

void FileSet::set_canary(const std::vector<measure::Row>& canary) {
  for (results::ResultFile& file : files_)
    file.canary = canary;
}

void FileSet::set_remarks(const std::function<results::MatrixRemarks(const plan::Job&)>& remarks) {
  for (std::size_t j = 0; j < files_.size(); ++j)
    files_[j].matrix = remarks(plan_->jobs[j]);
}

/// The order of the plan: by case, and by library within opencv's file.
std::vector<measure::Row> FileSet::in_order(std::vector<measure::Row> rows) const {
  std::map<std::string, std::size_t> place;
  for (const plan::Case& one : plan_->jobs.front().cases)
    place.emplace(one.name, place.size());
  std::stable_sort(rows.begin(), rows.end(), [&](const measure::Row& a, const measure::Row& b) {
    return std::make_pair(place[a.case_name], a.library) <
           std::make_pair(place[b.case_name], b.library);
  });
  return rows;
}

Status FileSet::add(const std::vector<measure::Row>& rows) {
  for (std::size_t j = 0; j < plan_->jobs.size(); ++j) {
    const auto& mine = plan_->jobs[j].row_libraries;
    std::vector<measure::Row>& kept = files_[j].rows;
    bool changed = false;
    for (const measure::Row& row : rows) {
      if (std::find(mine.begin(), mine.end(), row.library) == mine.end()) continue;
      std::erase_if(kept, [&](const measure::Row& before) {
        return before.case_name == row.case_name && before.library == row.library;
      });
      kept.push_back(row);
      changed = true;
    }
    if (!changed) continue;
    kept = in_order(std::move(kept));
    SLUICE_CHECK(folder_->write_result(plan_->jobs[j].output, files_[j]));
  }
  return ok;
}

Status FileSet::write_all() const {
  for (std::size_t j = 0; j < plan_->jobs.size(); ++j)
    SLUICE_CHECK(folder_->write_result(plan_->jobs[j].output, files_[j]));
  return ok;
}

}  // namespace sluice::backend
