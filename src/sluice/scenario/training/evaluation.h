// sluice/scenario/training/evaluation.h - loss and accuracy of a model over a whole dataset.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/scenario/training/feed.h"
#include "sluice/train/engine.h"

#include <cstdint>
#include <functional>
#include <span>

namespace sluice::scenario {

/// Against the true labels: no smoothing, no mixing.
struct Accuracy {
  std::uint64_t samples = 0;
  std::uint64_t correct = 0;  // the highest logit is the label's; of equal ones the first counts
  double loss_sum = 0;        // of −log softmax

  [[nodiscard]] double top1() const;
  [[nodiscard]] double loss() const;
};
Json to_json(const Accuracy& accuracy);

/// Adds rows of `classes` logits; those with a label below 0 are left out.
void add_logits(Accuracy& sum, std::span<const float> logits, std::span<const std::int32_t> labels);

/// Asked before every batch; true ends it with Errc::interrupted.
using Stop = std::function<bool()>;

/// One pass over `feed`, of all ranks of the engine: each takes its own part of the samples, and
/// has the result of all. A loss that is not finite is Errc::measurement.
Result<Accuracy> evaluate(train::Engine& engine, TrainingFeed& feed, bool with_average,
                          const Stop& stop);

}  // namespace sluice::scenario
