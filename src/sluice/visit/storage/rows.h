// sluice/visit/storage/rows.h - what `sluice bench storage` reads, and the rows of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/measure/runner.h"
#include "sluice/scenario/storage/input.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::visit {

struct StoragePlan {
  scenario::StorageInput large;      // of the sequential and random rows
  scenario::StorageInput objects;    // of the rows with whole objects
  std::vector<std::string> modes;    // of local inputs
  std::vector<std::uint64_t> sizes;  // upper ends of the classes of objects, growing
  std::vector<int> concurrency;
  std::uint64_t bytes = 0;       // of a pass, at most
  std::uint64_t operations = 0;  // of a pass, at most
  bool warm = false;             // random reads and whole objects also from memory
  measure::Policy policy;
};
/// `large` and `objects` are what the inputs of the plan hold. A pattern for which there is nothing
/// to read has no rows.
std::vector<measure::SubjectSpec> storage_rows(const StoragePlan& plan,
                                               const std::vector<storage::Object>& large,
                                               const std::vector<storage::Object>& objects,
                                               const std::vector<std::string>& worker);

/// Writes what is read when no input is given, and points the plan at it: one large file, and
/// objects of every size.
Status make_storage_data(StoragePlan& plan, const std::filesystem::path& folder,
                         std::uint64_t seed);

}  // namespace sluice::visit
