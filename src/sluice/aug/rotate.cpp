// sluice/aug/rotate.cpp - turns the image about its centre.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/make_transform.h"
#include "sluice/aug/warp.h"

namespace sluice::aug {
namespace {

struct RotateParams {
  std::array<double, 2> angle_range = {-45, 45};  // degrees
  std::string interpolation = "nearest";
  std::string border_mode = "constant";
  double fill = 0;
};
struct RotateDraw {
  Affine2x3 matrix = kIdentity2x3;
  bool nearest = true;
  double fill = 0;
};

RotateDraw sample(const RotateParams& params, Rng& rng, Shape shape) {
  const double angle = rng.uniform(params.angle_range[0], params.angle_range[1]);
  return {output_to_input({.degrees = angle}, shape), params.interpolation == "nearest",
          params.fill};
}

template <class T>
void rotate_reference(ImageSpan<T> dst, ImageView<T> src, const RotateDraw& draw) {
  warp_affine_reference(dst, src, draw.matrix, draw.nearest, draw.fill);
}

template <class T>
void rotate_fast(const Frames<T>& frames, const RotateDraw& draw, Scratch& scratch) {
  warp_affine(frames, scratch, draw.matrix, draw.nearest, draw.fill);
}

}  // namespace

TransformSpec rotate_spec() {
  return make_transform(Definition<RotateParams, RotateDraw>{
      .name = "Rotate",
      .doc = "Turned about the centre by a uniform angle, positive anticlockwise; pixels from "
             "outside are `fill`.",
      .parity = Parity::nearest,
      .params = {range("angle_range", &RotateParams::angle_range, -360, 360, "degrees"),
                 choice("interpolation", &RotateParams::interpolation, {"nearest", "bilinear"}),
                 choice("border_mode", &RotateParams::border_mode, {"constant"}),
                 field("fill", &RotateParams::fill, 0, 255, "level of u8; f32 gets fill / 255")},
      .draw = {field("matrix", &RotateDraw::matrix, -1e9, 1e9, "output to input, 2 x 3"),
               field("nearest", &RotateDraw::nearest), field("fill", &RotateDraw::fill, 0, 255)},
      .sample = sample,
      .fast_u8 = rotate_fast<std::uint8_t>,
      .fast_f32 = rotate_fast<float>,
      .reference_u8 = rotate_reference<std::uint8_t>,
      .reference_f32 = rotate_reference<float>,
      .u8 = kNearest,
      .f32 = kNearest});
}

}  // namespace sluice::aug
