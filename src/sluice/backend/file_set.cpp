// sluice/backend/file_set.cpp - which rows are kept, where new ones go, what is written.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/file_set.h"

#include "sluice/results/resume.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace sluice::backend {

namespace fs = std::filesystem;

Result<FileSet> FileSet::open(const results::RunFolder& folder, const plan::Plan& plan,
                              const results::ResultFile& head) {
  FileSet set(folder, plan);
  for (const plan::Job& job : plan.jobs) {
    results::ResultFile file = head;
    const fs::path path = folder.results() / job.output;
    if (folder.resumed() && fs::exists(path)) {
      SLUICE_TRY(results::ResultFile earlier, results::read(path));
      SLUICE_CHECK(results::check_resumable(earlier, head, path.string()));
      file = std::move(earlier);
    }
    set.files_.push_back(std::move(file));
  }
  // Files of one session carry one seed and one session id: those of the first visit.
  const auto earlier = std::find_if(set.files_.begin(), set.files_.end(), [&](const auto& file) {
    return file.session_id != head.session_id;
  });
  std::set<std::string> kept;
  for (const plan::Case& one : plan.jobs.front().cases) {
    if (set.finished(one.name)) kept.insert(one.name);
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
  for (const results::ResultFile& file : files_)
    done.merge(results::finished_cases(file));
  for (const plan::Job& job : plan_->jobs) {  // what is never attempted is finished, too
    for (const plan::Case& one : job.cases) {
      if (one.name != case_name || !one.excluded) continue;
      for (const std::string& library : job.row_libraries)
        done.emplace(case_name, library);
    }
  }
  return results::is_finished(done, case_name, libraries);
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
    const std::size_t before = kept.size();
    for (const measure::Row& row : rows) {
      if (std::find(mine.begin(), mine.end(), row.library) != mine.end()) kept.push_back(row);
    }
    if (kept.size() == before) continue;
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
