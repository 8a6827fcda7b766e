// sluice/scenario/loader/split_dataset.h - chosen samples of a dataset as a dataset, and the split
// into training and validation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/data/dataset.h"

#include <memory>
#include <vector>

namespace sluice::scenario {

/// The samples `indices` (rising, at least one) of `whole`.
class PickedDataset final : public loader::Dataset {
 public:
  PickedDataset(std::shared_ptr<const loader::Dataset> whole, std::vector<std::uint64_t> indices);

  [[nodiscard]] std::uint64_t size() const override { return indices_.size(); }
  [[nodiscard]] std::string name(std::uint64_t index) const override {
    return whole_->name(indices_[index]);
  }
  [[nodiscard]] std::int64_t label(std::uint64_t index) const override {
    return whole_->label(indices_[index]);
  }
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const override {
    return whole_->bytes(indices_[index]);
  }
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer& buffer) const override {
    return whole_->read(indices_[index], buffer);
  }
  void cancel() const override { whole_->cancel(); }

 private:
  std::shared_ptr<const loader::Dataset> whole_;
  std::vector<std::uint64_t> indices_;
  std::vector<std::uint64_t> starts_;
};

struct DatasetSplit {
  std::shared_ptr<const loader::Dataset> train;
  std::shared_ptr<const loader::Dataset> validation;  // null: the share comes to no sample
};
/// Holds back `share` of every class, spread evenly over it: the same samples whatever the seed.
/// Precondition: 0 < share < 1.
DatasetSplit split_dataset(std::shared_ptr<const loader::Dataset> whole, double share);

}  // namespace sluice::scenario
