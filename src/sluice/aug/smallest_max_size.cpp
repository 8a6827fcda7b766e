// sluice/aug/smallest_max_size.cpp - the shorter side gets a given length, the other keeps the
// shape.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/make_transform.h"
#include "sluice/aug/resizing.h"

#include <algorithm>

namespace sluice::aug {
namespace {

struct SmallestMaxSizeParams {
  int max_size = 512;
  std::string interpolation = "bilinear";
};
struct SmallestMaxSizeDraw {
  int width = 512, height = 512;
};

SmallestMaxSizeDraw fixed(const SmallestMaxSizeParams& params, Shape input) {
  const int side = std::min(input.width, input.height);
  return {scaled_side(input.width, side, params.max_size),
          scaled_side(input.height, side, params.max_size)};
}

Shape output(const SmallestMaxSizeDraw& draw, Shape input) {
  return {draw.width, draw.height, input.channels};
}

template <class T>
void smallest_max_size_reference(ImageSpan<T> dst, ImageView<T> src, const SmallestMaxSizeDraw&) {
  image::resize_bilinear_reference(dst, src);
}

template <class T>
void smallest_max_size_fast(const Frames<T>& frames, const SmallestMaxSizeDraw&, Scratch& scratch) {
  resize_frames(frames, scratch);
}

}  // namespace

TransformSpec smallest_max_size_spec() {
  constexpr double kSide = image::kMaxSide;
  return make_transform(Definition<SmallestMaxSizeParams, SmallestMaxSizeDraw>{
      .name = "SmallestMaxSize",
      .doc = "The shorter side becomes `max_size` pixels, the other in proportion (rounded, halves "
             "to even, at least 1); bilinear, larger or smaller.",
      .parity = Parity::smooth,
      .params = {field("max_size", &SmallestMaxSizeParams::max_size, 1, 8192, "pixels"),
                 choice("interpolation", &SmallestMaxSizeParams::interpolation, {"bilinear"})},
      .draw = {field("width", &SmallestMaxSizeDraw::width, 1, kSide),
               field("height", &SmallestMaxSizeDraw::height, 1, kSide)},
      .fixed = fixed,
      .output = output,
      .fast_u8 = smallest_max_size_fast<std::uint8_t>,
      .fast_f32 = smallest_max_size_fast<float>,
      .reference_u8 = smallest_max_size_reference<std::uint8_t>,
      .reference_f32 = smallest_max_size_reference<float>,
      .u8 = kResizeU8,
      .f32 = kResizeF32});
}

}  // namespace sluice::aug
