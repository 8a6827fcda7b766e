// sluice/scenario/training/mixer.h - Mixup and CutMix on the batches of a feed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/engine.h"

#include <cstdint>
#include <vector>

namespace sluice::scenario {

/// Parameters of the Beta distributions; 0: off. With both, each batch is of one kind or the other.
struct MixOptions {
  double mixup = 0;
  double cutmix = 0;
  [[nodiscard]] bool on() const { return mixup > 0 || cutmix > 0; }
};
/// For `model` and a batch of this size; usage errors name the flags: tokens, an odd batch.
Status check_mixing(const MixOptions& options, const train::ModelSpec& model, int batch);

class TrainingMixer {
 public:
  TrainingMixer(const MixOptions& options, const train::ModelSpec& model, std::uint64_t seed);

  [[nodiscard]] bool on() const { return options_.on(); }
  /// `batch` itself when off; else with soft targets, valid until the next call, and the draw by
  /// which the engine mixes the images. It follows from (seed, step, micro).
  Result<train::BatchView> mix(const train::BatchView& batch, std::uint64_t step, int micro);
  /// The same with every image as it is: what an engine with soft targets is checked on.
  Result<train::BatchView> unmixed(const train::BatchView& batch);

 private:
  Result<train::BatchView> with_targets(const train::BatchView& batch,
                                        const train::MixupDraw& draw);

  MixOptions options_;
  int classes_;
  int image_;
  std::uint64_t seed_;
  std::vector<float> targets_;
};

}  // namespace sluice::scenario
