// sluice/scenario/training/mixer.cpp - draws, and mixes the targets; the images are mixed where the
// engine holds them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/mixer.h"

#include "sluice/train/mixup.h"

namespace sluice::scenario {

TrainingMixer::TrainingMixer(const MixOptions& options, const train::ModelSpec& model,
                             std::uint64_t seed)
    : options_(options), classes_(model.classes), image_(model.image), seed_(seed) {}

Result<train::BatchView> TrainingMixer::mix(const train::BatchView& batch, std::uint64_t step,
                                            int micro) {
  if (!on()) return batch;
  train::MixupConfig config;
  config.mixup_alpha = options_.mixup;
  config.cutmix_alpha = options_.cutmix;
  const train::MixupDraw draw =
      train::draw_mixup(config, seed_, step, static_cast<std::uint64_t>(micro), image_, image_);
  targets_.resize(batch.labels.size() * static_cast<std::size_t>(classes_));
  // Smoothing is the engine's: it does it to any target.
  SLUICE_CHECK(train::mix_targets(targets_, batch.labels, classes_, draw.lambda, 0));
  train::BatchView mixed = batch;
  mixed.mix = draw;
  mixed.soft_targets = targets_;
  return mixed;
}

}  // namespace sluice::scenario
