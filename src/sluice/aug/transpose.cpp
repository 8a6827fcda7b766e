// sluice/aug/transpose.cpp - rows become columns.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/transpose.h"

#include "sluice/aug/make_transform.h"
#include "sluice/aug/pixels.h"

namespace sluice::aug {
namespace {

Shape output(const NoDraw&, Shape input) {
  return {input.height, input.width, input.channels};
}

template <class T>
void transpose_reference(ImageSpan<T> dst, ImageView<T> src, const NoDraw&) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(y, x, c) = src.at(x, y, c);
}

template <class T>
void transpose_fast(const Frames<T>& frames, const NoDraw&, Scratch&) {
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageSpan<T>& dst = frames.dst[f];
    const ImageView<T>& src = frames.src[f];
    kernels::transpose({row_as_bytes<T>(dst, 0), pitch(dst), row_as_bytes<T>(src, 0), pitch(src),
                        static_cast<std::size_t>(src.width()),
                        static_cast<std::size_t>(src.height()), pixel_bytes(src)});
  }
}

}  // namespace

TransformSpec transpose_spec() {
  return make_transform(
      Definition<NoParams, NoDraw>{.name = "Transpose",
                                   .doc = "Pixel (x, y) goes to (y, x).",
                                   .parity = Parity::equal,
                                   .output = output,
                                   .fast_u8 = transpose_fast<std::uint8_t>,
                                   .fast_f32 = transpose_fast<float>,
                                   .reference_u8 = transpose_reference<std::uint8_t>,
                                   .reference_f32 = transpose_reference<float>});
}

}  // namespace sluice::aug
