// sluice/backend/gcp/stage.h - the local side of a machine: the files that go up, the results that
// come down, and which rows are here already.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/gcp/machine.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::backend::gcp {

/// Every row of the plan is in `folder`, with as many runs as it asks for, and none of them failed.
bool has_all_rows(const plan::Plan& plan, const std::filesystem::path& folder);
/// Some result file of the plan is there: its finished rows need not be measured again.
bool has_some_rows(const plan::Plan& plan, const std::filesystem::path& folder);

/// Writes script, job and configuration into `stage`, and what `results` holds when `resume`.
Status write_stage(const Machine& machine, const std::filesystem::path& stage,
                   const std::filesystem::path& results, bool resume);

/// The program's archives: at most 50 MiB each.
struct Bundles {
  std::string digest;  // 16 digits of what they hold
  int count = 0;
};
Result<Bundles> look_at_bundles(const std::vector<std::filesystem::path>& files);
Status write_bundles(const std::vector<std::filesystem::path>& files,
                     const std::filesystem::path& stage);

/// Moves what was pulled into the folder of the task; what stands there is replaced, file by file.
Status take_pulled(const std::filesystem::path& pulled, const std::filesystem::path& folder);
/// The exit code that the machine wrote; none where it wrote none.
std::optional<int> exit_code_in(const std::filesystem::path& folder);

}  // namespace sluice::backend::gcp
