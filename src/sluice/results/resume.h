// sluice/results/resume.h - what an interrupted run has finished, and whether it may be continued.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/results/result_file.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::results {

using CaseAndLibrary = std::pair<std::string, std::string>;

/// Rows that need not be measured again: ok, early_stopped, unsupported. A failed row is measured
/// again, because what made it fail may have gone; so is a skipped one, which costs nothing if it
/// is skipped once more.
std::set<CaseAndLibrary> finished_cases(const ResultFile& file);

/// The unit of `--resume`: a case is finished when it is so in every one of `libraries`; otherwise
/// it is measured again in all of them, so that its rows stay interleaved.
bool is_finished(const std::set<CaseAndLibrary>& finished, const std::string& case_name,
                 const std::vector<std::string>& libraries);

/// Rows of `existing` whose case is finished in all `libraries`: what a resumed file starts with.
std::vector<measure::Row> finished_rows(const ResultFile& existing,
                                        const std::vector<std::string>& libraries);

/// An Error naming the first key in which the folder's file and the planned one differ, when their
/// numbers could not stand in one table: schema, program, machine, configuration, dataset. More
/// runs (execution.num_runs) may be planned than there were. `name` is what the error calls the
/// file.
Status check_resumable(const ResultFile& existing, const ResultFile& planned,
                       const std::string& name);

}  // namespace sluice::results
