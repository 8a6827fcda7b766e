// sluice/aug/shear.cpp - shears the image along both axes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/make_transform.h"
#include "sluice/aug/warp.h"

namespace sluice::aug {
namespace {

struct ShearParams {
  double shear = 10;  // degrees
};
struct ShearDraw {
  Affine2x3 matrix = kIdentity2x3;
};

ShearDraw fixed(const ShearParams& params, Shape shape) {
  return {output_to_input({.shear = {params.shear, params.shear}}, shape)};
}

template <class T>
void shear_reference(ImageSpan<T> dst, ImageView<T> src, const ShearDraw& draw) {
  warp_affine_reference(dst, src, draw.matrix, false, 0);
}

template <class T>
void shear_fast(const Frames<T>& frames, const ShearDraw& draw, Scratch& scratch) {
  warp_affine(frames, scratch, draw.matrix, false, 0);
}

}  // namespace

TransformSpec shear_spec() {
  return make_transform(Definition<ShearParams, ShearDraw>{
      .name = "Shear",
      .doc = "Sheared about the centre by the same angle along x and y, bilinear; pixels from "
             "outside are 0.",
      .parity = Parity::smooth,
      .params = {field("shear", &ShearParams::shear, -40, 40, "degrees")},
      .draw = {field("matrix", &ShearDraw::matrix, -1e9, 1e9, "output to input, 2 x 3")},
      .fixed = fixed,
      .fast_u8 = shear_fast<std::uint8_t>,
      .fast_f32 = shear_fast<float>,
      .reference_u8 = shear_reference<std::uint8_t>,
      .reference_f32 = shear_reference<float>,
      .u8 = kBilinearU8,
      .f32 = kBilinearF32});
}

}  // namespace sluice::aug
