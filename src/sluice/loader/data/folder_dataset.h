// sluice/loader/data/folder_dataset.h - one object, one sample: images or arrays under a prefix.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/data/dataset.h"
#include "sluice/loader/data/key_table.h"
#include "sluice/storage/object_store.h"

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sluice::loader {

/// Samples without a size (ObjectStore::list_names) get it at once where they are few, else by a
/// thread of the data set, or before, when they are read; a size once known stays. So a file that
/// shrinks after that is noticed, as one that shrinks after it was listed.
class FolderDataset final : public Dataset {
 public:
  static constexpr std::uint64_t kFewSamples = 8192;

  /// Labels by `labels_csv` when that is not empty, else by folders (labels.h).
  static Result<std::shared_ptr<const Dataset>> make(std::shared_ptr<storage::ObjectStore> store,
                                                     KeyTable samples, const std::string& prefix,
                                                     const std::filesystem::path& labels_csv);

  [[nodiscard]] std::uint64_t size() const override { return samples_.size(); }
  [[nodiscard]] std::string name(std::uint64_t index) const override { return samples_.key(index); }
  [[nodiscard]] std::int64_t label(std::uint64_t index) const override {
    return samples_.label(index);
  }
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  /// 0 of a sample that is gone before its size was known.
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const override;
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer& buffer) const override;
  void cancel() const override;

 private:
  FolderDataset(std::shared_ptr<storage::ObjectStore> store, KeyTable samples)
      : store_(std::move(store)), samples_(std::move(samples)) {}

  Result<std::uint64_t> size_of(std::uint64_t index) const;
  void find_sizes();

  std::shared_ptr<storage::ObjectStore> store_;
  KeyTable samples_;
  std::vector<std::uint64_t> starts_{0};
  mutable std::jthread finding_;  // last: ends before the others go
};

}  // namespace sluice::loader
