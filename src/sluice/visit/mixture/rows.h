// sluice/visit/mixture/rows.h - rows of mixtures, ours and those of others, and what their runs
// left.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/mixture/analysis.h"
#include "sluice/core/result.h"
#include "sluice/measure/runner.h"
#include "sluice/results/batch_times.h"
#include "sluice/scenario/mixture/run.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::visit {

/// What tells a row from others, and no more: also for one that cannot be measured. `axes` become
/// part of its name: "mixture/oxe29/seed=7".
measure::SubjectSpec named_mixture_row(const scenario::MixtureSpec& spec,
                                       const std::string& library,
                                       const std::map<std::string, std::string>& axes);

/// One row: a run of `spec` in a fresh process of `library` each time. Batch times go
/// into `batches`, a folder that exists, or of a single run a file, which ends in .jsonl.
/// Errc::unsupported: the library is not installed.
Result<measure::SubjectSpec> mixture_row(const scenario::MixtureSpec& spec,
                                         const std::string& library,
                                         const std::map<std::string, std::string>& axes,
                                         const std::filesystem::path& batches);

/// One run of a row.
struct MixtureTake {
  std::string case_name;
  std::string library;
  int block = 0;
  scenario::MixtureRun run{};
  std::vector<results::BatchTime> batches{};  // read from the file that the worker wrote
};

/// Every run of the rows that has details, in order. What a worker says that makes no sense is an
/// error that names it.
Result<std::vector<MixtureTake>> mixture_takes(const std::vector<measure::Row>& rows);

/// What the analysis of a run needs besides its batch times.
analysis::MixtureFacts mixture_facts_of(const MixtureTake& take, const scenario::MixtureSpec& spec);

}  // namespace sluice::visit
