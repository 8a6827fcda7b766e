// sluice/backend/file_set.h - the result files of one plan: begun or continued, grown row by row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/measure/record.h"
#include "sluice/plan/jobs.h"
#include "sluice/results/result_file.h"
#include "sluice/results/run_folder.h"

#include <functional>
#include <string>
#include <vector>

namespace sluice::backend {

/// One file per job, at the place that the plan names. The unit of work is a case over all
/// libraries: rows of an unfinished case are dropped when a folder is continued, so that its rows
/// stay interleaved; finished cases are never measured again. A case with fewer runs than the plan
/// asks for keeps them, and the missing ones are added to all of its rows.
class FileSet {
 public:
  /// `head` is the visit; jobs differ in rows and remarks only. Continuing a folder keeps what the
  /// earlier visit wrote at the top of its files, and refuses one whose numbers could not stand in
  /// one table.
  static Result<FileSet> open(const results::RunFolder& folder, const plan::Plan& plan,
                              const results::ResultFile& head);

  [[nodiscard]] bool finished(const std::string& case_name) const;
  [[nodiscard]] bool finished(const std::string& case_name,
                              const std::vector<std::string>& libraries) const;
  /// Rows of an earlier visit to which runs are to be added; empty: the case begins anew.
  [[nodiscard]] std::vector<measure::Row> so_far(const std::string& case_name) const;
  /// Of the earlier visit, or of this one.
  [[nodiscard]] std::uint64_t seed() const { return files_.front().block_order_seed; }
  [[nodiscard]] const std::vector<results::ResultFile>& files() const { return files_; }

  void set_canary(const std::vector<measure::Row>& canary);
  /// What stands beside the rows of a job's file (ResultFile::matrix).
  void set_remarks(const std::function<results::MatrixRemarks(const plan::Job&)>& remarks);
  /// Rows of one case, in any libraries of the plan, in place of those that were there; writes the
  /// files they belong to.
  Status add(const std::vector<measure::Row>& rows);
  /// Every file, whether or not it has rows: what the plan promised exists.
  Status write_all() const;

 private:
  FileSet(const results::RunFolder& folder, const plan::Plan& plan)
      : folder_(&folder), plan_(&plan) {}
  [[nodiscard]] std::vector<std::string> libraries() const;
  [[nodiscard]] std::int64_t planned_runs() const { return plan_->config.execution.num_runs; }
  [[nodiscard]] std::vector<measure::Row> in_order(std::vector<measure::Row> rows) const;

  const results::RunFolder* folder_;
  const plan::Plan* plan_;
  std::vector<results::ResultFile> files_;  // by job
};

}  // namespace sluice::backend
