// sluice/cli/expected_tables.h - what `sluice coverage` looks for: the rows of a plan, or of the
// paper.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/plan/jobs.h"
#include "sluice/publish/coverage.h"

#include <vector>

namespace sluice::cli {

/// Every file of the plan with all its rows.
std::vector<publish::ExpectedTable> tables_of_plan(const plan::Plan& plan);

enum class Profile {
  full_paper,   // micro and DataLoader tables, the latter from memory and with decoding; GPU tables
  ram_reduced,  // the CPU tables without the decode scope
};

/// One regime of the published tables.
struct PaperTable {
  const char* scenario;
  plan::Mode mode;
  const char* device;
  plan::Scope scope;  // of pipelines
  std::vector<std::string> libraries;
  std::int64_t items;
  std::int64_t batch_size, workers;  // of pipelines; 0 elsewhere
  bool optional = false;
};
/// As configs/paper/prod_*.yaml measure them; with decoding on the CPU nothing was published, and
/// the sizes are those of the memory scope.
const std::vector<PaperTable>& paper_tables();

/// The tables that the paper's libraries fill, at its sizes or more items, in measure::kTableRuns
/// runs; ours and OpenCV stand beside them. DALI's are optional.
Result<std::vector<publish::ExpectedTable>> tables_of_profile(Profile profile);

}  // namespace sluice::cli
