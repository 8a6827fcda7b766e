// sluice/aug/geometry/resized_crop.cpp - ten tries, then the middle.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/geometry/resized_crop.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

int rounded(double length) {
  return static_cast<int>(std::nearbyint(length));
}

image::Rect centre(const ResizedCropRanges& ranges, int width, int height) {
  const double ratio = static_cast<double>(width) / height;
  image::Rect part{0, 0, width, height};
  if (ratio < ranges.ratio[0])
    part.height = std::clamp(rounded(width / ranges.ratio[0]), 1, height);
  else if (ratio > ranges.ratio[1])
    part.width = std::clamp(rounded(height * ranges.ratio[1]), 1, width);
  part.x = (width - part.width) / 2;
  part.y = (height - part.height) / 2;
  return part;
}

}  // namespace

image::Rect sample_resized_crop(const ResizedCropRanges& ranges, Rng& rng, int width, int height) {
  constexpr int kTries = 10;
  const double pixels = static_cast<double>(width) * height;
  for (int i = 0; i < kTries; ++i) {
    const double area = pixels * rng.uniform(ranges.scale[0], ranges.scale[1]);
    const double ratio =
        std::exp(rng.uniform(std::log(ranges.ratio[0]), std::log(ranges.ratio[1])));
    image::Rect part;
    part.width = rounded(std::sqrt(area * ratio));
    part.height = rounded(std::sqrt(area / ratio));
    if (part.width < 1 || part.width > width || part.height < 1 || part.height > height) continue;
    part.y = rng.between(0, height - part.height);
    part.x = rng.between(0, width - part.width);
    return part;
  }
  return centre(ranges, width, height);
}

}  // namespace sluice::aug
