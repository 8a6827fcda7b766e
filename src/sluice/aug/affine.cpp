// sluice/aug/affine.cpp - scales, turns, shears and moves the image in one warp.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/make_transform.h"
#include "sluice/aug/warp.h"

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

template <class T>
void affine_reference(ImageSpan<T> dst, ImageView<T> src, const AffineDraw& draw) {
  warp_affine_reference(dst, src, draw.matrix, draw.nearest, draw.fill);
}

template <class T>
void affine_fast(const Frames<T>& frames, const AffineDraw& draw, Scratch& scratch) {
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
      .fast_u8 = affine_fast<std::uint8_t>,
      .fast_f32 = affine_fast<float>,
      .reference_u8 = affine_reference<std::uint8_t>,
      .reference_f32 = affine_reference<float>,
      .u8 = kBilinearU8,
      .f32 = kBilinearF32});
}

}  // namespace sluice::aug
