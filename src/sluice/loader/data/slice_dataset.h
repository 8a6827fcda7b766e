// sluice/loader/data/slice_dataset.h - samples that lie in shards: members of tars, parts of
// bundles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/data/dataset.h"
#include "sluice/storage/slice_reader.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace sluice::loader {

/// What a shard holds, in the order it is added. 32 bytes a sample beside its name.
struct SliceTable {
  struct Row {
    std::uint64_t offset;
    std::uint64_t size;
    std::uint32_t name;  // where it begins in `names`
    std::uint32_t name_size;
    std::int32_t label;
  };
  std::deque<Row> rows{};
  std::string names{};

  /// invalid_input when names of all samples take more than 4 GiB.
  Status add(std::string_view name, std::uint64_t offset, std::uint64_t size, std::int32_t label);
  [[nodiscard]] std::string_view name(const Row& row) const {
    return std::string_view(names).substr(row.name, row.name_size);
  }
};

class SliceDataset final : public Dataset {
 public:
  /// shards[s] holds tables[s]; shards without samples are left out. At least one sample.
  SliceDataset(std::shared_ptr<storage::ObjectStore> store, std::vector<storage::Object> shards,
               std::vector<SliceTable> tables, const storage::SliceOptions& options = {});

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  /// "train-0003.tar:7.jpg".
  [[nodiscard]] std::string name(std::uint64_t index) const override;
  /// "7.jpg".
  [[nodiscard]] std::string short_name(std::uint64_t index) const;
  [[nodiscard]] std::int64_t label(std::uint64_t index) const override { return row(index).label; }
  void set_label(std::uint64_t index, std::int32_t label);
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const override { return row(index).size; }
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer& buffer) const override;
  void cancel() const override { reader_->cancel(); }

 private:
  [[nodiscard]] std::size_t shard_of(std::uint64_t index) const;
  [[nodiscard]] const SliceTable::Row& row(std::uint64_t index) const;

  std::vector<SliceTable> tables_;
  std::vector<std::uint64_t> starts_;
  std::uint64_t size_ = 0;
  std::unique_ptr<storage::SliceReader> reader_;
};

}  // namespace sluice::loader
