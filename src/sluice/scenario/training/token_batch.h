// sluice/scenario/training/token_batch.h - sequences of a loader as what a GPT takes: ids, and the
// next id of each as its label.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/engine.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::scenario {

class TokenBatch {
 public:
  TokenBatch(std::uint32_t batch, std::uint32_t sequence)
      : sequence_(sequence), ids_(std::size_t{batch} * sequence), labels_(ids_.size()) {}

  /// `tokens`: sequence + 1 of each sample, at most `batch` samples; those that are missing have id
  /// 0 and label -1. Valid until the next call.
  train::BatchView set(std::span<const std::int32_t> tokens);

 private:
  std::size_t sequence_;
  std::vector<std::int32_t> ids_, labels_;
};

}  // namespace sluice::scenario
