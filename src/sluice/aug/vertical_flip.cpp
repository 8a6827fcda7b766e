// sluice/aug/vertical_flip.cpp - top becomes bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/make_transform.h"
#include "sluice/aug/pixels.h"

namespace sluice::aug {
namespace {

template <class T>
void vertical_flip_reference(ImageSpan<T> dst, ImageView<T> src, const NoDraw&) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(x, y, c) = src.at(x, src.height() - 1 - y, c);
}

/// Reads forwards and writes backwards: prefetchers follow the first, and the second needs none.
template <class T>
void vertical_flip_fast(const Frames<T>& frames, const NoDraw&, Scratch&) {
  for (std::size_t f = 0; f < frames.size(); ++f)
    for (int y = 0; y < frames.src[f].height(); ++y)
      std::memcpy(frames.dst[f].row(frames.src[f].height() - 1 - y), frames.src[f].row(y),
                  frames.src[f].row_bytes());
}

}  // namespace

TransformSpec vertical_flip_spec() {
  return make_transform(
      Definition<NoParams, NoDraw>{.name = "VerticalFlip",
                                   .doc = "Pixel (x, y) is taken from (x, height - 1 - y).",
                                   .parity = Parity::equal,
                                   .fast_u8 = vertical_flip_fast<std::uint8_t>,
                                   .fast_f32 = vertical_flip_fast<float>,
                                   .reference_u8 = vertical_flip_reference<std::uint8_t>,
                                   .reference_f32 = vertical_flip_reference<float>});
}

}  // namespace sluice::aug
