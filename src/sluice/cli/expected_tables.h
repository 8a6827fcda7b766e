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
  full_paper,   // micro and DataLoader tables, the latter from memory and with decoding
  ram_reduced,  // without the decode scope
};
/// The tables of RGB, 9-channel and video on the CPU, and DALI's, which are optional. Sizes (items,
/// batch, workers, runs) are left open.
Result<std::vector<publish::ExpectedTable>> tables_of_profile(Profile profile);

}  // namespace sluice::cli
