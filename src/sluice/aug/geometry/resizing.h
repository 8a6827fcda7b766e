// sluice/aug/geometry/resizing.h - what the transforms that resize share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"
#include "sluice/image/resize/resize.h"

#include <cmath>
#include <string_view>

namespace sluice::aug {

inline constexpr Tolerance kResizeU8{
    .max = 1, .reason = "weights of 8 bits along rows: half a level off at most"};
inline constexpr Tolerance kResizeF32{.max = 2e-6,
                                      .reason = "two blends in single precision for one in double"};

/// Every output from its input, bilinear.
template <class T>
void resize_frames(const Frames<T>& frames, Scratch& scratch) {
  const Shape to = shape_of(frames.dst[0]), from = shape_of(frames.src[0]);
  const auto memory = scratch.take<std::byte>(
      image::resize_bytes<T>({to.width, to.height, from.width, from.height, from.channels}));
  image::resize_bilinear(frames.dst, frames.src, memory);
}

/// `length` scaled as `side` becomes `target`: rounded, halves to even, at least 1.
inline int scaled_side(int length, int side, int target) {
  const double scaled = length * (static_cast<double>(target) / side);
  return std::max(1, static_cast<int>(std::nearbyint(scaled)));
}

}  // namespace sluice::aug
