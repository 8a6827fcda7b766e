// sluice/aug/longest_max_size.cpp - the longer side gets a given length, the other keeps the shape.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/make_transform.h"
#include "sluice/aug/resizing.h"

#include <algorithm>

namespace sluice::aug {
namespace {

struct LongestMaxSizeParams {
  int max_size = 512;
  std::string interpolation = "bilinear";
};
struct LongestMaxSizeDraw {
  int width = 512, height = 512;
};

LongestMaxSizeDraw fixed(const LongestMaxSizeParams& params, Shape input) {
  const int side = std::max(input.width, input.height);
  return {scaled_side(input.width, side, params.max_size),
          scaled_side(input.height, side, params.max_size)};
}

Shape output(const LongestMaxSizeDraw& draw, Shape input) {
  return {draw.width, draw.height, input.channels};
}

template <class T>
void longest_max_size_reference(ImageSpan<T> dst, ImageView<T> src, const LongestMaxSizeDraw&) {
  image::resize_bilinear_reference(dst, src);
}

template <class T>
void longest_max_size_fast(const Frames<T>& frames, const LongestMaxSizeDraw&, Scratch& scratch) {
  resize_frames(frames, scratch);
}

}  // namespace

TransformSpec longest_max_size_spec() {
  constexpr double kSide = image::kMaxSide;
  return make_transform(Definition<LongestMaxSizeParams, LongestMaxSizeDraw>{
      .name = "LongestMaxSize",
      .doc = "The longer side becomes `max_size` pixels, the other in proportion (rounded, halves "
             "to even, at least 1); bilinear, larger or smaller.",
      .parity = Parity::smooth,
      .params = {field("max_size", &LongestMaxSizeParams::max_size, 1, 8192, "pixels"),
                 choice("interpolation", &LongestMaxSizeParams::interpolation, {"bilinear"})},
      .draw = {field("width", &LongestMaxSizeDraw::width, 1, kSide),
               field("height", &LongestMaxSizeDraw::height, 1, kSide)},
      .fixed = fixed,
      .output = output,
      .fast_u8 = longest_max_size_fast<std::uint8_t>,
      .fast_f32 = longest_max_size_fast<float>,
      .reference_u8 = longest_max_size_reference<std::uint8_t>,
      .reference_f32 = longest_max_size_reference<float>,
      .u8 = kResizeU8,
      .f32 = kResizeF32});
}

}  // namespace sluice::aug
