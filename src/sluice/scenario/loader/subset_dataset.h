// sluice/scenario/loader/subset_dataset.h - some samples of a dataset, as a dataset.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/data/dataset.h"

#include <memory>
#include <vector>

namespace sluice::scenario {

class SubsetDataset final : public loader::Dataset {
 public:
  /// The first `count` samples, or as many spread evenly over all of them. Precondition: 0 < count
  /// <= whole->size().
  SubsetDataset(std::shared_ptr<const loader::Dataset> whole, std::uint64_t count, bool spread);
  /// Those of `chosen`, which rise, as one shard. Precondition: there are some, all in `whole`.
  SubsetDataset(std::shared_ptr<const loader::Dataset> whole, std::vector<std::uint64_t> chosen);

  [[nodiscard]] std::uint64_t size() const override { return count_; }
  [[nodiscard]] std::string name(std::uint64_t index) const override {
    return whole_->name(at(index));
  }
  [[nodiscard]] std::int64_t label(std::uint64_t index) const override {
    return whole_->label(at(index));
  }
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const override {
    return whole_->bytes(at(index));
  }
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer& buffer) const override {
    return whole_->read(at(index), buffer);
  }
  void cancel() const override { whole_->cancel(); }

 private:
  [[nodiscard]] std::uint64_t at(std::uint64_t index) const;

  std::shared_ptr<const loader::Dataset> whole_;
  std::uint64_t count_;
  bool spread_ = false;
  std::vector<std::uint64_t> chosen_;  // empty: by count_ and spread_
  std::vector<std::uint64_t> starts_;
};

}  // namespace sluice::scenario
