// sluice/loader/episodes/episode_dataset.h - a data set of episodes in a store: its shards,
// features and the episodes of a split.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/episodes/dataset_info.h"
#include "sluice/loader/episodes/features.h"
#include "sluice/loader/episodes/split.h"
#include "sluice/storage/format/tfrecord.h"
#include "sluice/storage/object_store.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loader::episodes {

/// Folders of data sets in a store, "" for the store itself: those with a dataset_info.json, each
/// with its newest version only. "bridge/0.1.0", in the order of names.
Result<std::vector<std::string>> find_datasets(storage::ObjectStore& store);

/// The folder of one: `name`, name/version or name/config/version; of several versions the newest.
Result<std::string> find_dataset(storage::ObjectStore& store, std::string_view name);

/// The dataset_info.json of a folder.
Result<DatasetInfo> read_dataset_info(storage::ObjectStore& store, std::string_view folder);

/// Records [first, first + count) of a file.
struct ShardSlice {
  storage::Object file;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t of = 0;  // records that the file should have
};

/// Immutable and thread-safe once made.
struct EpisodeDataset {
  std::shared_ptr<storage::ObjectStore> store;
  std::string folder;  // in the store
  DatasetInfo info;
  FeatureTable features;
  std::vector<ShardSlice> shards;  // of the split; those without an episode are left out
  std::uint64_t episodes = 0;

  /// Reads both JSON files and lists the shards once. Missing files, and shards that
  /// dataset_info.json names but the store has not, are errors that name them.
  static Result<EpisodeDataset> open(std::shared_ptr<storage::ObjectStore> store,
                                     std::string folder, std::string_view split);
  /// "s3://bucket/oxe/bridge/0.1.0": for messages.
  [[nodiscard]] std::string name() const;
};

/// Episodes of one slice after the other, front to back. A file with fewer or more records than
/// dataset_info.json says is an error (invalid_input) that names both numbers.
class EpisodeReader {
 public:
  explicit EpisodeReader(const EpisodeDataset& dataset)
      : dataset_(&dataset), records_(*dataset.store, {}) {}

  /// The next episode's record; nothing at the end.
  Result<std::optional<storage::Record>> next();
  /// Of the last record: number of its shard in dataset.shards, and of the record in its file.
  [[nodiscard]] std::size_t shard() const { return shard_; }
  [[nodiscard]] std::uint64_t index() const { return index_ - 1; }
  /// Goes on with the next shard: after an error in this one.
  void leave_shard();

 private:
  Status enter();
  [[nodiscard]] Error short_file(std::uint64_t found) const;

  const EpisodeDataset* dataset_;
  storage::RecordReader records_;
  std::size_t shard_ = 0;
  std::uint64_t index_ = 0;  // of the next record in its file
  bool entered_ = false;
};

}  // namespace sluice::loader::episodes
