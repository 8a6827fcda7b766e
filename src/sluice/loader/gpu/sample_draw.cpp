// sluice/loader/gpu/sample_draw.cpp - factors and weights rounded as room aug rounds them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/sample_draw.h"

#include "sluice/aug/filters/gaussian.h"

#include <algorithm>
#include <cmath>

namespace sluice::loader::gpu {

SampleDraw sample_draw(const ThreeAugmentDraw& draw) {
  SampleDraw made;
  made.x = draw.part.x;
  made.y = draw.part.y;
  made.width = draw.part.width;
  made.height = draw.part.height;
  made.mirrored = draw.mirrored ? 1 : 0;
  made.change = static_cast<Change>(draw.change);
  const aug::GaussianTaps taps = aug::gaussian_taps(kBlurSize, draw.sigma);
  for (std::size_t k = 0; k < 3; ++k) {
    made.columns[k] = taps.columns[k];
    made.rows[k] = taps.rows[k];
    made.order[k] = static_cast<Step>(draw.order[k]);
  }
  made.brightness = static_cast<std::int32_t>(std::ceil(draw.brightness * 8192));
  made.contrast = static_cast<std::int32_t>(std::ceil(draw.contrast * 8192));
  made.saturation = static_cast<std::int32_t>(std::lround(draw.saturation * 8192));
  return made;
}

SampleDraw sample_draw(const ThreeAugmentOptions& options, const SampleKey& key,
                       const ThreeAugmentDraw& draw) {
  SampleDraw made = sample_draw(draw);
  const image::Rect box = draw_erasing(options.erasing, key, options.side);
  made.erased = {box.x, box.y, box.width, box.height, {}};
  if (box.width == 0) return made;
  const auto levels = mean_levels(options.normalization);
  std::copy(levels.begin(), levels.end(), made.erased.levels);
  return made;
}

}  // namespace sluice::loader::gpu
