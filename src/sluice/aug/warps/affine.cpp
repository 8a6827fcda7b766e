// sluice/aug/warps/affine.cpp - scales, turns, shears and moves the image: all at once, or one
// alone.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/make_transform.h"
#include "sluice/aug/warps/warp.h"

namespace sluice::aug {
namespace {

struct AffineParams {
  double angle = 25;                       // degrees, drawn from -angle to angle
  std::array<double, 2> shift = {20, 20};  // pixels
  double scale = 2;
  std::array<double, 2> shear = {10, 15};  // degrees
  std::string interpolation = "bilinear";
  std::string border_mode = "constant";
  double fill = 0;
  int reference_size = 512;  // what libraries divide by that take shifts as shares
};
struct AffineDraw {
  Affine2x3 matrix = kIdentity2x3;
  bool nearest = false;
  double fill = 0;
};

AffineDraw sample(const AffineParams& params, Rng& rng, Shape shape) {
  const AffineParts parts = {.degrees = rng.uniform(-params.angle, params.angle),
                             .scale = params.scale,
                             .shear = params.shear,
                             .shift = params.shift};
  return {output_to_input(parts, shape), params.interpolation == "nearest", params.fill};
}

/// tan a * tan b = 1 folds the plane into a line.
Status check(const AffineParams& params) {
  if (std::abs(params.shear[0]) + std::abs(params.shear[1]) > 85)
    return Error{Errc::invalid_config,
                 fmt::format("shear [{}, {}]: the angles add up to more than 85 degrees",
                             params.shear[0], params.shear[1])};
  return ok;
}

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

struct ShearParams {
  double shear = 10;  // degrees
};
struct ShearDraw {
  Affine2x3 matrix = kIdentity2x3;
  static constexpr bool nearest = false;
  static constexpr double fill = 0;
};

ShearDraw fixed(const ShearParams& params, Shape shape) {
  return {output_to_input({.shear = {params.shear, params.shear}}, shape)};
}

template <class D, class T>
void warped_reference(ImageSpan<T> dst, ImageView<T> src, const D& draw) {
  warp_affine_reference(dst, src, draw.matrix, draw.nearest, draw.fill);
}

template <class D, class T>
void warped_fast(const Frames<T>& frames, const D& draw, Scratch& scratch) {
  warp_affine(frames, scratch, draw.matrix, draw.nearest, draw.fill);
}

}  // namespace

TransformSpec affine_spec() {
  return make_transform(Definition<AffineParams, AffineDraw>{
      .name = "Affine",
      .doc =
          "Scaled, turned by a uniform angle within +-`angle` and sheared about the centre, then "
          "moved by `shift`; pixels from outside are `fill`.",
      .parity = Parity::smooth,
      .params = {field("angle", &AffineParams::angle, 0, 180,
                       "degrees, drawn from -angle to angle"),
                 field("shift", &AffineParams::shift, -1e6, 1e6, "pixels"),
                 field("scale", &AffineParams::scale, 1e-3, 1e3),
                 field("shear", &AffineParams::shear, -80, 80, "degrees, of x and y"),
                 choice("interpolation", &AffineParams::interpolation, {"nearest", "bilinear"}),
                 choice("border_mode", &AffineParams::border_mode, {"constant"}),
                 field("fill", &AffineParams::fill, 0, 255, "level of u8; f32 gets fill / 255"),
                 field("reference_size", &AffineParams::reference_size, 1, 1e6,
                       "for libraries that take shifts as shares; ours are pixels")},
      .draw = {field("matrix", &AffineDraw::matrix, -1e9, 1e9, "output to input, 2 x 3"),
               field("nearest", &AffineDraw::nearest), field("fill", &AffineDraw::fill, 0, 255)},
      .sample = sample,
      .check = check,
      .fast = {warped_fast, warped_fast},
      .reference = {warped_reference, warped_reference},
      .u8 = kBilinearU8,
      .f32 = kBilinearF32});
}

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
      .fast = {warped_fast, warped_fast},
      .reference = {warped_reference, warped_reference},
      .u8 = kNearest,
      .f32 = kNearest});
}

TransformSpec shear_spec() {
  return make_transform(Definition<ShearParams, ShearDraw>{
      .name = "Shear",
      .doc = "Sheared about the centre by the same angle along x and y, bilinear; pixels from "
             "outside are 0.",
      .parity = Parity::smooth,
      .params = {field("shear", &ShearParams::shear, -40, 40, "degrees")},
      .draw = {field("matrix", &ShearDraw::matrix, -1e9, 1e9, "output to input, 2 x 3")},
      .fixed = fixed,
      .fast = {warped_fast, warped_fast},
      .reference = {warped_reference, warped_reference},
      .u8 = kBilinearU8,
      .f32 = kBilinearF32});
}

}  // namespace sluice::aug
