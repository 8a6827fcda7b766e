// sluice/loader/episodes/inspect.h - what a folder of episodes holds: every record read and
// checked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"
#include "sluice/loader/episodes/episode_dataset.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::loader::episodes {

struct DatasetReport {
  std::string folder;  // in the store
  std::string name;
  std::string version;
  std::vector<std::string> splits;
  std::uint64_t shards = 0;
  std::uint64_t episodes = 0;  // as stated
  std::uint64_t read = 0;      // sound ones
  std::uint64_t steps = 0;
  std::uint64_t shortest = 0;
  std::uint64_t longest = 0;
  std::uint64_t bytes = 0;              // of the shards
  std::vector<FeatureSpec> images;      // those of steps
  std::vector<FeatureSpec> features{};  // all
  std::vector<std::string> errors;      // one per shard at most, or why it cannot be opened
};

/// Every data set of the store, one report each; what is damaged is named there. An image of each
/// episode is looked at (its header). An error only where there is no data set at all.
Result<std::vector<DatasetReport>> inspect_episodes(
    const std::shared_ptr<storage::ObjectStore>& store, Progress& progress = Progress::silent());

}  // namespace sluice::loader::episodes
