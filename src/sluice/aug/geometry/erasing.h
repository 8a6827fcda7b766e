// sluice/aug/geometry/erasing.h - the rectangle that Erasing draws; loaders that erase what they
// have placed draw it themselves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/rng.h"
#include "sluice/image/codec.h"

#include <array>

namespace sluice::aug {

struct ErasingRanges {
  std::array<double, 2> scale{0.02, 0.33};  // share of the image's area
  std::array<double, 2> ratio{0.3, 3.3};    // width / height
};

/// Area uniform over `scale`, but no larger than fits at every ratio, width / height uniform over
/// `ratio`, anywhere in width x height. Of width 0 where that leaves nothing.
image::Rect sample_erasing(const ErasingRanges& ranges, Rng& rng, int width, int height);

}  // namespace sluice::aug
