// sluice/scenario/loader/split_dataset.cpp - which samples are trained on, and which are held back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/loader/split_dataset.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice::scenario {
namespace {

/// Classes begin at different places of their period, so that small ones together give the share.
double offset_of(std::int64_t label) {
  constexpr double kGolden = 0.6180339887498949;
  return std::fmod(static_cast<double>(label + 2) * kGolden, 1.0);
}

}  // namespace

PickedDataset::PickedDataset(std::shared_ptr<const loader::Dataset> whole,
                             std::vector<std::uint64_t> indices)
    : whole_(std::move(whole)), indices_(std::move(indices)) {
  for (const std::uint64_t start : whole_->shard_starts()) {
    const auto first = static_cast<std::uint64_t>(
        std::lower_bound(indices_.begin(), indices_.end(), start) - indices_.begin());
    if (first >= indices_.size()) break;
    if (starts_.empty() || starts_.back() != first) starts_.push_back(first);
  }
}

DatasetSplit split_dataset(std::shared_ptr<const loader::Dataset> whole, double share) {
  std::vector<std::uint64_t> train, validation;
  std::map<std::int64_t, std::uint64_t> seen;
  for (std::uint64_t i = 0; i < whole->size(); ++i) {
    const std::int64_t label = whole->label(i);
    const auto before = static_cast<double>(seen[label]++);
    const double offset = offset_of(label);
    const bool held =
        std::floor((before + 1) * share + offset) > std::floor(before * share + offset);
    (held ? validation : train).push_back(i);
  }
  DatasetSplit split;
  if (train.empty() || validation.empty()) {
    split.train = std::move(whole);
    return split;
  }
  split.train = std::make_shared<PickedDataset>(whole, std::move(train));
  split.validation = std::make_shared<PickedDataset>(std::move(whole), std::move(validation));
  return split;
}

}  // namespace sluice::scenario
