// sluice/cli/storage_rows.h - the flags of `sluice bench storage`, and the rows they come to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/measure/runner.h"
#include "sluice/scenario/storage_input.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::cli {

/// As typed; empty: the default of the kind of input.
struct StorageFlags {
  std::string input;  // empty: generated
  std::string endpoint, region;
  bool anonymous = false;
  std::string modes, sizes, concurrency, bytes;
  std::int64_t operations = 0;  // 0: the default
  bool warm = false;
  int runs = 5;
  int samples = 2;
  double timeout_s = 60;
};

struct StoragePlan {
  scenario::StorageInput large;      // of the sequential and random rows
  scenario::StorageInput objects;    // of the rows with whole objects
  std::vector<std::string> modes;    // of local inputs
  std::vector<std::uint64_t> sizes;  // upper ends of the classes of objects, growing
  std::vector<int> concurrency;
  std::uint64_t bytes = 0;       // of a pass, at most
  std::uint64_t operations = 0;  // of a pass, at most
  bool warm = false;             // random reads and whole objects also from memory
};
/// A value that is not accepted is one usage error that names it and what would be.
Result<StoragePlan> storage_plan(const StorageFlags& flags);

/// "4k", "128K", "1m", "2g", "4096": bytes, by 1024.
Result<std::uint64_t> parse_bytes(const std::string& text, const std::string& flag);

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

}  // namespace sluice::cli
