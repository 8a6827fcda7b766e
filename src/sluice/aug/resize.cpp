// sluice/aug/resize.cpp - to a square of given side.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/make_transform.h"
#include "sluice/aug/resizing.h"

namespace sluice::aug {
namespace {

struct ResizeParams {
  int target_size = 512;
  std::string interpolation = "bilinear";
};
struct ResizeDraw {
  int width = 512, height = 512;
};

ResizeDraw fixed(const ResizeParams& params, Shape) {
  return {params.target_size, params.target_size};
}

Shape output(const ResizeDraw& draw, Shape input) {
  return {draw.width, draw.height, input.channels};
}

template <class T>
void resize_reference(ImageSpan<T> dst, ImageView<T> src, const ResizeDraw&) {
  image::resize_bilinear_reference(dst, src);
}

template <class T>
void resize_fast(const Frames<T>& frames, const ResizeDraw&, Scratch& scratch) {
  resize_frames(frames, scratch);
}

}  // namespace

TransformSpec resize_spec() {
  constexpr double kSide = image::kMaxSide;
  return make_transform(Definition<ResizeParams, ResizeDraw>{
      .name = "Resize",
      .doc = "To `target_size` x `target_size`, bilinear between pixel centres, no antialiasing.",
      .parity = Parity::smooth,
      .params = {field("target_size", &ResizeParams::target_size, 1, kSide, "pixels"),
                 choice("interpolation", &ResizeParams::interpolation, {"bilinear"})},
      .draw = {field("width", &ResizeDraw::width, 1, kSide),
               field("height", &ResizeDraw::height, 1, kSide)},
      .fixed = fixed,
      .output = output,
      .fast_u8 = resize_fast<std::uint8_t>,
      .fast_f32 = resize_fast<float>,
      .reference_u8 = resize_reference<std::uint8_t>,
      .reference_f32 = resize_reference<float>,
      .u8 = kResizeU8,
      .f32 = kResizeF32});
}

}  // namespace sluice::aug
