// sluice/aug/kernels/transpose.h - rows become columns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// Pixel (x, y) of an image of `width` x `height` goes to (y, x). Pitches in bytes; a negative one
/// walks the image from the bottom: that makes the quarter turns. No overlap.
struct TransposeJob {
  std::uint8_t* dst;
  std::ptrdiff_t dst_pitch;
  const std::uint8_t* src;
  std::ptrdiff_t src_pitch;
  std::size_t width, height, pixel_bytes;
};
void transpose(const TransposeJob& job);

}  // namespace sluice::aug::kernels
