// sluice/image/resize/antialias.h - bilinear resize with antialiasing: a triangle as wide as what
// an output pixel stands for (Pillow's BILINEAR, torchvision's antialias=True).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"
#include "sluice/image/resize/antialias_kernels.h"
#include "sluice/image/resize/resize.h"

#include <cstdint>

namespace sluice::image {

/// The definition, in double. Per axis, output x is centred on c = (x + 0.5) * src / dst and source
/// pixel i weighs max(0, 1 - |i + 0.5 - c| / s), with s = max(1, src / dst); weights are divided by
/// their sum. Rounded once, at the end, halves up. An axis that is enlarged gets plain bilinear
/// weights. Precondition: equal channels, no overlap.
void resize_antialias_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src);

/// The fast path. Integer arithmetic: the same bytes on every machine and instruction set, within 1
/// of the reference; the bytes of BilinearResizer where neither axis shrinks. Keeps its memory:
/// reuse one per thread and it stops allocating, and makes no tables while shapes repeat. Any shape
/// is accepted, different channel counts are an error.
class AntialiasResizer {
 public:
  Status run(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src);

 private:
  BilinearResizer enlarger_;
  Image memory_;  // one row of bytes, as aligned as an image is
  ResizeShape tables_of_;
  detail::AntialiasTables tables_;  // in memory_
};

}  // namespace sluice::image
