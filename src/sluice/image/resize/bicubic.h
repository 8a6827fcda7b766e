// sluice/image/resize/bicubic.h - bicubic resize with antialiasing: Keys' cubic, as wide as what an
// output pixel stands for (Pillow's BICUBIC, torchvision's with antialias=True, DALI's CUBIC).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::image {

/// The definition, in double. Per axis, output x is centred on c = (x + 0.5) * src / dst and source
/// pixel i weighs k(|i + 0.5 - c| / s), with s = max(1, src / dst) and Keys' k, a = -0.5; weights
/// are divided by their sum. Rounded once, at the end, halves up, and clipped. Precondition: equal
/// channels, no overlap.
void resize_bicubic_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src);

/// In single precision: within 1 of the reference. Keeps its memory, and its weights while shapes
/// repeat: reuse one per thread. Different channel counts are an error.
class BicubicResizer {
 public:
  Status run(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src);

  /// One axis: what each output position blends.
  struct Axis {
    int dst = 0, src = 0;
    std::size_t taps = 0;  // the most a position has: stride of the weights
    std::vector<int> first, count;
    std::vector<float> weights;
  };

 private:
  Axis columns_, rows_;
  std::vector<float> held_, sums_;  // stretched rows, as many as an output blends; one output
};

}  // namespace sluice::image
