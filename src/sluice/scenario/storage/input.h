// sluice/scenario/storage/input.h - what the storage rows read: a store, and the reads of a row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/storage/object_store.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace sluice::scenario {

/// Where to read, as the spec of `prepare` says it. Credentials come from the environment.
struct StorageInput {
  std::string input;  // a folder, a file or a URI
  std::string endpoint, region;
  bool anonymous = false;
  std::string read_mode = "buffered";  // of local inputs
  int concurrency = 1;

  [[nodiscard]] bool remote() const { return input.find("://") != std::string::npos; }
};
Json to_json(const StorageInput& input);
Result<StorageInput> storage_input_from(const Json& spec);
Result<std::shared_ptr<storage::ObjectStore>> open_storage(const StorageInput& input);

/// Objects with at least one byte, in key order, at most kMaxObjects. None is an error.
inline constexpr std::size_t kMaxObjects = 100'000;
Result<std::vector<storage::Object>> list_storage(storage::ObjectStore& store);

/// Where the bytes of local objects lie; empty when they are not on this machine.
std::vector<std::filesystem::path> files_of(const StorageInput& input,
                                            const std::vector<storage::Object>& objects);

/// One timed operation.
struct ReadOperation {
  std::size_t object = 0;  // index
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

enum class ReadPattern { sequential, random, get };

struct ReadPlan {
  ReadPattern pattern = ReadPattern::sequential;
  std::uint64_t size = 0;      // random: of a read
  std::uint64_t smallest = 0;  // get: of an object, both inclusive
  std::uint64_t largest = 0;
  std::uint64_t operations = 512;  // at most; random and get
  std::uint64_t max_bytes = 0;     // sequential and get: at most, but one read; 0: all
  std::uint64_t seed = 0;
};
inline constexpr std::uint64_t kSequentialRead = 1'000'000;

/// The reads of a pass, the same in every process. sequential: all objects one after another in
/// reads of up to kSequentialRead bytes, a whole number of megabytes (10^6) in all. random: aligned
/// to 4096, no place twice. get: whole objects, none twice. An Error names what the input lacks.
Result<std::vector<ReadOperation>> plan_reads(const std::vector<storage::Object>& objects,
                                              const ReadPlan& plan);

}  // namespace sluice::scenario
