// sluice/scenario/loader/subset_dataset.cpp - which samples of the whole a subset has.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/loader/subset_dataset.h"

namespace sluice::scenario {
namespace {

__extension__ using Wide = unsigned __int128;

/// floor(a b / c) without overflow.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return static_cast<std::uint64_t>(Wide{a} * b / c);
}

}  // namespace

SubsetDataset::SubsetDataset(std::shared_ptr<const loader::Dataset> whole, std::uint64_t count,
                             bool spread)
    : whole_(std::move(whole)), count_(count), spread_(spread) {
  for (const std::uint64_t start : whole_->shard_starts()) {
    // The first sample of ours that is not before `start`.
    std::uint64_t first = start;
    if (spread_) {
      first = scaled(start, count_, whole_->size());
      if (first < count_ && at(first) < start) ++first;
    }
    if (first >= count_) break;
    if (starts_.empty() || starts_.back() != first) starts_.push_back(first);
  }
  if (starts_.empty()) starts_.push_back(0);
}

SubsetDataset::SubsetDataset(std::shared_ptr<const loader::Dataset> whole,
                             std::vector<std::uint64_t> chosen)
    : whole_(std::move(whole)), count_(chosen.size()), chosen_(std::move(chosen)), starts_{0} {}

std::uint64_t SubsetDataset::at(std::uint64_t index) const {
  if (!chosen_.empty()) return chosen_[static_cast<std::size_t>(index)];
  return spread_ ? scaled(index, whole_->size(), count_) : index;
}

}  // namespace sluice::scenario
