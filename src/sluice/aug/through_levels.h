// sluice/aug/through_levels.h - a f32 image as one of 256 levels, through a transform of bytes, and
// back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/kernels/levels.h"
#include "sluice/aug/transform.h"

#include <cmath>
#include <cstdint>

namespace sluice::aug {

/// What AlbumentationsX does with f32 images where an operation is defined on 256 levels: x becomes
/// floor(255 x + 1/2), bytes(frames of one u8 image in scratch memory, dst and src the same) works
/// on it, the result is divided by 255.
template <class Bytes>
void through_levels(const Frames<float>& frames, Scratch& scratch, Bytes bytes) {
  const ImageView<float>& first = frames.src[0];
  const std::size_t row = first.row_samples();
  const auto levels = scratch.take<std::uint8_t>(first.samples());
  const ImageSpan<std::uint8_t> image(levels.data(), first.width(), first.height(),
                                      first.channels(), row);
  const ImageView<std::uint8_t> view = image;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    for (int y = 0; y < first.height(); ++y)
      kernels::to_levels(image.row(y), frames.src[f].row(y), row);
    bytes(Frames<std::uint8_t>{{&image, 1}, {&view, 1}});
    for (int y = 0; y < first.height(); ++y)
      kernels::from_levels(frames.dst[f].row(y), view.row(y), row);
  }
}

/// The same for one sample, for references.
inline int level_of(float x) {
  const double level = std::floor(static_cast<double>(x) * 255 + 0.5);
  return static_cast<int>(level < 0 ? 0 : level > 255 ? 255 : level);
}

}  // namespace sluice::aug
