// sluice/aug/geometry/resized_crop.h - the part of an image that RandomResizedCrop draws; decoders
// that read only that part draw it themselves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/rng.h"
#include "sluice/image/codec.h"

#include <array>

namespace sluice::aug {

struct ResizedCropRanges {
  std::array<double, 2> scale{0.08, 1.0};     // share of the image's area
  std::array<double, 2> ratio{0.75, 1.3333};  // width / height
};

/// Area uniform over `scale`, width / height log-uniform over `ratio`, anywhere in width x height;
/// after ten that do not fit the middle, as large as its ratio allows.
image::Rect sample_resized_crop(const ResizedCropRanges& ranges, Rng& rng, int width, int height);

}  // namespace sluice::aug
