// sluice/scenario/training/mixer.cpp - draws, and mixes the targets; the images are mixed where the
// engine holds them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/mixer.h"

#include "sluice/train/mixup.h"

#include <fmt/format.h>

namespace sluice::scenario {

Status check_mixing(const MixOptions& options, const train::ModelSpec& model, int batch) {
  if (!options.on()) return ok;
  if (model.family == train::Family::gpt)
    return Error{Errc::usage,
                 fmt::format("--mixup, --cutmix: mix images; {} takes tokens", model.name)};
  if (batch % 2 == 0) return ok;
  return Error{
      Errc::usage,
      fmt::format("--batch-size {}: --mixup and --cutmix take pairs of images; an even number is "
                  "accepted",
                  batch)};
}

TrainingMixer::TrainingMixer(const MixOptions& options, const train::ModelSpec& model,
                             std::uint64_t seed)
    : options_(options), classes_(model.classes), image_(model.image), seed_(seed) {}

Result<train::BatchView> TrainingMixer::mix(const train::BatchView& batch, std::uint64_t step,
                                            int micro) {
  if (!on()) return batch;
  train::MixupConfig config;
  config.mixup_alpha = options_.mixup;
  config.cutmix_alpha = options_.cutmix;
  return with_targets(batch, train::draw_mixup(config, seed_, step,
                                               static_cast<std::uint64_t>(micro), image_, image_));
}

Result<train::BatchView> TrainingMixer::unmixed(const train::BatchView& batch) {
  if (!on()) return batch;
  return with_targets(batch, {});
}

Result<train::BatchView> TrainingMixer::with_targets(const train::BatchView& batch,
                                                     const train::MixupDraw& draw) {
  targets_.resize(batch.labels.size() * static_cast<std::size_t>(classes_));
  // Smoothing is the engine's: it does it to any target.
  SLUICE_CHECK(train::mix_targets(targets_, batch.labels, classes_, draw.lambda, 0));
  train::BatchView mixed = batch;
  mixed.mix = draw;
  mixed.soft_targets = targets_;
  return mixed;
}

}  // namespace sluice::scenario
