// sluice/visit/storage/run.h - one visit of `sluice bench storage`: what is measured, in which
// order, and what it leaves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"
#include "sluice/visit/caller.h"
#include "sluice/visit/storage/rows.h"

#include <filesystem>

namespace sluice::visit {

struct StorageResult {
  results::ResultFile file;
  std::filesystem::path folder;
  bool interrupted = false;
};

/// Without an input in the plan data are generated, and removed at the end.
Result<StorageResult> run_storage(const Caller& caller, const StoragePlan& plan);

}  // namespace sluice::visit
