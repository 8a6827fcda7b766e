// sluice/loader/data/slice_dataset.cpp - samples that lie in shards: members of tars, parts of
// bundles.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/data/slice_dataset.h"

#include <algorithm>

namespace sluice::loader {

Status SliceTable::add(std::string_view name, std::uint64_t offset, std::uint64_t size,
                       std::int32_t label) {
  if (names.size() + name.size() > UINT32_MAX)
    return Error{Errc::invalid_input, "names of more than 4 GiB in one shard"};
  rows.push_back({.offset = offset,
                  .size = size,
                  .name = static_cast<std::uint32_t>(names.size()),
                  .name_size = static_cast<std::uint32_t>(name.size()),
                  .label = label});
  names += name;
  return ok;
}

SliceDataset::SliceDataset(std::shared_ptr<storage::ObjectStore> store,
                           std::vector<storage::Object> shards, std::vector<SliceTable> tables,
                           const storage::SliceOptions& options) {
  std::vector<storage::Object> used;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    if (tables[s].rows.empty()) continue;
    starts_.push_back(size_);
    size_ += tables[s].rows.size();
    used.push_back(std::move(shards[s]));
    tables_.push_back(std::move(tables[s]));
  }
  reader_ = std::make_unique<storage::SliceReader>(std::move(store), std::move(used), options);
  for (std::size_t s = 0; s < tables_.size(); ++s)
    for (const SliceTable::Row& row : tables_[s].rows)
      reader_->expect(s, row.offset, row.size);
}

std::size_t SliceDataset::shard_of(std::uint64_t index) const {
  return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), index) -
                                  starts_.begin()) -
         1;
}

const SliceTable::Row& SliceDataset::row(std::uint64_t index) const {
  const std::size_t shard = shard_of(index);
  return tables_[shard].rows[index - starts_[shard]];
}

std::string SliceDataset::short_name(std::uint64_t index) const {
  return std::string(tables_[shard_of(index)].name(row(index)));
}

std::string SliceDataset::name(std::uint64_t index) const {
  return reader_->objects()[shard_of(index)].key + ":" + short_name(index);
}

void SliceDataset::set_label(std::uint64_t index, std::int32_t label) {
  const std::size_t shard = shard_of(index);
  tables_[shard].rows[index - starts_[shard]].label = label;
}

Result<std::span<const std::byte>> SliceDataset::read(std::uint64_t index,
                                                      storage::ReadBuffer& buffer) const {
  const SliceTable::Row& found = row(index);
  return reader_->read(shard_of(index), found.offset, static_cast<std::size_t>(found.size), buffer);
}

}  // namespace sluice::loader
