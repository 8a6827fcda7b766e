// sluice/loader/episodes/dataset_info.h - splits and shards of a data set, by its
// dataset_info.json.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loader::episodes {

struct SplitInfo {
  std::string name;                            // "train"
  std::string file_template;                   // "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
  std::vector<std::uint64_t> shard_lengths{};  // episodes of each
  std::uint64_t bytes = 0;                     // as stated
  [[nodiscard]] std::uint64_t episodes() const;
};

struct DatasetInfo {
  std::string name;     // "fractal20220817_data"
  std::string version;  // "0.1.0"
  std::vector<SplitInfo> splits;

  /// An error names those there are.
  [[nodiscard]] Result<const SplitInfo*> split(std::string_view name) const;
  /// "bridge-train.tfrecord-00003-of-01024".
  [[nodiscard]] std::string shard_name(const SplitInfo& split, std::size_t shard) const;
};

/// `where` is what errors call the file. File formats other than tfrecord (array_record, riegeli,
/// parquet) are Errc::unsupported, by name.
Result<DatasetInfo> parse_dataset_info(std::string_view text, std::string_view where);

}  // namespace sluice::loader::episodes
