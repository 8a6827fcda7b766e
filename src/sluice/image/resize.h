// sluice/image/resize.h - bilinear resize: half-pixel centres, no antialiasing (OpenCV's
// INTER_LINEAR convention).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"

#include <cstdint>
#include <vector>

namespace sluice::image {

/// The definition, in double: output x looks at (x + 0.5) * src / dst - 0.5, clamped to the first
/// and last sample; u8 is rounded to nearest, halves up. Precondition: equal channels, no overlap.
void resize_bilinear_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src);
void resize_bilinear_reference(ImageSpan<float> dst, ImageView<float> src);

/// The fast path; keeps its tables and row buffer, so reuse one per thread and it stops allocating.
/// u8 is integer arithmetic: the same bytes on every machine and instruction set, within 1 of the
/// reference. f32 is within 4e-6 of the largest magnitude among the samples blended. Sizes come
/// from the views; any shape is accepted, different channel counts are an error.
class BilinearResizer {
 public:
  Status run(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src);
  Status run(ImageSpan<float> dst, ImageView<float> src);

 private:
  std::vector<std::int32_t> offsets_;
  std::vector<std::int16_t> weights_u8_;
  std::vector<float> weights_f32_;
  std::vector<std::int16_t> row_u8_;
  std::vector<float> row_f32_;
};

}  // namespace sluice::image
