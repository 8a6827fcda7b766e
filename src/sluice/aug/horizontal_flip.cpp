// sluice/aug/horizontal_flip.cpp - left becomes right.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/mirror.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/pixels.h"

namespace sluice::aug {
namespace {

template <class T>
void horizontal_flip_reference(ImageSpan<T> dst, ImageView<T> src, const NoDraw&) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(x, y, c) = src.at(src.width() - 1 - x, y, c);
}

template <class T>
void horizontal_flip_fast(const Frames<T>& frames, const NoDraw&, Scratch&) {
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageSpan<T>& dst = frames.dst[f];
    const ImageView<T>& src = frames.src[f];
    kernels::mirror({row_as_bytes<T>(dst, 0), pitch(dst), row_as_bytes<T>(src, 0), pitch(src),
                     static_cast<std::size_t>(src.width()), static_cast<std::size_t>(src.height()),
                     pixel_bytes(src)});
  }
}

}  // namespace

TransformSpec horizontal_flip_spec() {
  return make_transform(
      Definition<NoParams, NoDraw>{.name = "HorizontalFlip",
                                   .doc = "Pixel (x, y) is taken from (width - 1 - x, y).",
                                   .parity = Parity::equal,
                                   .fast_u8 = horizontal_flip_fast<std::uint8_t>,
                                   .fast_f32 = horizontal_flip_fast<float>,
                                   .reference_u8 = horizontal_flip_reference<std::uint8_t>,
                                   .reference_f32 = horizontal_flip_reference<float>});
}

}  // namespace sluice::aug
