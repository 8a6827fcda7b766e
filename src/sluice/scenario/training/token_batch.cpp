// sluice/scenario/training/token_batch.cpp - every sequence twice: from its first token, and from
// its second.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/token_batch.h"

#include <algorithm>
#include <cassert>

namespace sluice::scenario {

train::BatchView TokenBatch::set(std::span<const std::int32_t> tokens) {
  const std::size_t samples = tokens.size() / (sequence_ + 1);
  assert(samples * sequence_ <= ids_.size());
  auto ids = ids_.begin();
  auto labels = labels_.begin();
  for (std::size_t i = 0; i < samples; ++i) {
    const auto sample = tokens.subspan(i * (sequence_ + 1), sequence_ + 1);
    ids = std::copy(sample.begin(), sample.end() - 1, ids);
    labels = std::copy(sample.begin() + 1, sample.end(), labels);
  }
  std::fill(ids, ids_.end(), 0);
  std::fill(labels, labels_.end(), -1);
  train::BatchView view;
  view.ids = ids_;
  view.labels = labels_;
  return view;
}

}  // namespace sluice::scenario
