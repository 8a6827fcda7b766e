// sluice/train/mixup.h - Mixup and CutMix over a batch, as timm's batch mode has them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/core/rng.h"

#include <cstdint>
#include <span>

namespace sluice::train {

struct MixupConfig {
  double mixup_alpha = 0.8;  // λ ~ Beta(alpha, alpha); 0: no Mixup
  double cutmix_alpha = 1.0;
  double probability = 1.0;   // that a batch is mixed at all
  double cutmix_share = 0.5;  // of the mixed batches, where both are on
  float label_smoothing = 0;  // in [0, 1)
};
/// Usage error that names the field, its value and the range.
Status check_mixup(const MixupConfig& config);

/// One for a batch. λ is the share of an image that stays; the rest comes from its partner, which
/// is the image at the same place counted from the end.
struct MixupDraw {
  enum class Kind : std::uint8_t { none, mixup, cutmix } kind = Kind::none;
  double lambda = 1;  // CutMix: the area that stays, not the λ that was drawn
  int top = 0, bottom = 0, left = 0, right = 0;  // CutMix: rows and columns of the partner
};
/// Depends on its arguments only; `micro` tells the micro-batches of a step apart. `config` was
/// checked.
MixupDraw draw_mixup(const MixupConfig& config, std::uint64_t seed, std::uint64_t step,
                     std::uint64_t micro, int height, int width);

/// An even batch (otherwise an image would be its own partner) and a box inside the image; usage
/// error.
Status check_mix(const MixupDraw& draw, int batch, int height, int width);

/// Images in host memory; channels_last: [y, x, channel] rather than [channel, y, x].
struct MixupImages {
  std::span<float> values;  // batch * channels * height * width
  int batch = 0, channels = 3, height = 0, width = 0;
  bool channels_last = false;
};
/// In place. Usage error: as check_mix(), and a size that is not the shape's.
Status mix_images(const MixupImages& images, const MixupDraw& draw);

/// targets[i] = λ·onehot(labels[i]) + (1 − λ)·onehot(labels[batch − 1 − i]), [batch, classes]; with
/// smoothing s, onehot is 1 − s + s/classes and s/classes. Errors: a label outside [0, classes), a
/// size that is not batch * classes, an odd batch.
Status mix_targets(std::span<float> targets, std::span<const std::int32_t> labels, int classes,
                   double lambda, float label_smoothing);

/// Beta(a, b) as a ratio of two gamma draws (Marsaglia and Tsang, 2000; below 1 the boost
/// G(a) = G(a + 1)·U^(1/a), in logarithms so that small a does not underflow). a, b above 0.
double draw_beta(Rng& rng, double a, double b);

}  // namespace sluice::train
