// sluice/image/resize/resize.h - bilinear resize: half-pixel centres, no antialiasing (OpenCV's
// INTER_LINEAR convention).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::image {

/// The definition, in double: output x looks at (x + 0.5) * src / dst - 0.5, clamped to the first
/// and last sample; u8 is rounded to nearest, halves up. Precondition: equal channels, no overlap.
void resize_bilinear_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src);
void resize_bilinear_reference(ImageSpan<float> dst, ImageView<float> src);

struct ResizeShape {
  int dst_width = 0, dst_height = 0;
  int src_width = 0, src_height = 0;
  int channels = 0;
  friend bool operator==(const ResizeShape&, const ResizeShape&) = default;
};

/// Bytes of memory, aligned to Image::kAlignment, that resize_bilinear works in.
template <Sample T>
std::size_t resize_bytes(const ResizeShape& shape);

/// The fast path, without allocation: the tables are made once in `memory`, then every dst[i] is
/// made from src[i]; all have one shape. u8 is integer arithmetic: the same bytes on every machine
/// and instruction set, within 1 of the reference. f32 is within 4e-6 of the largest magnitude
/// among the samples blended. Preconditions: as many outputs as inputs, at least one, not empty, of
/// one number of channels; resize_bytes() of memory.
void resize_bilinear(std::span<const ImageSpan<std::uint8_t>> dst,
                     std::span<const ImageView<std::uint8_t>> src, std::span<std::byte> memory);
void resize_bilinear(std::span<const ImageSpan<float>> dst, std::span<const ImageView<float>> src,
                     std::span<std::byte> memory);

/// The same with memory of its own, kept: reuse one per thread and it stops allocating, and makes
/// no tables while shapes repeat. Any shape is accepted, different channel counts are an error.
class BilinearResizer {
 public:
  Status run(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src);
  Status run(ImageSpan<float> dst, ImageView<float> src);

 private:
  template <Sample T>
  Status run_as(ImageSpan<T> dst, ImageView<T> src);

  Image memory_;  // one row of bytes, as aligned as an image is
  ResizeShape tables_of_;
  DType tables_for_ = DType::u8;
};

}  // namespace sluice::image
