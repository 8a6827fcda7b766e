// sluice/aug/warps/optical_distortion.cpp - a lens that magnifies more or less towards its rim.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/warp_map.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/warps/warp.h"

namespace sluice::aug {
namespace {

struct OpticalDistortionParams {
  double distort_limit = 0.5;
  std::string mode = "fisheye";
};
struct OpticalDistortionDraw {
  double distort = 0;
};

OpticalDistortionDraw sample(const OpticalDistortionParams& params, Rng& rng, Shape) {
  return {rng.uniform(-params.distort_limit, params.distort_limit)};
}

kernels::RadialMap map_of(const OpticalDistortionDraw& draw, int width, int height) {
  const double cx = width / 2.0, cy = height / 2.0;
  return {cx, cy, draw.distort / (cx * cx + cy * cy)};
}

template <class T>
void optical_distortion_reference(ImageSpan<T> dst, ImageView<T> src,
                                  const OpticalDistortionDraw& draw) {
  const double cx = src.width() / 2.0, cy = src.height() / 2.0;
  const double corner = std::hypot(cx, cy);
  warp_reference(dst, src, false, 0, [&](double x, double y) {
    const double r = std::hypot(x - cx, y - cy) / corner;
    const double grow = 1 + draw.distort * r * r;
    return Point{cx + (x - cx) * grow, cy + (y - cy) * grow};
  });
}

template <class T>
void optical_distortion_fast(const Frames<T>& frames, const OpticalDistortionDraw& draw,
                             Scratch& scratch) {
  const kernels::RadialMap map = map_of(draw, frames.src[0].width(), frames.src[0].height());
  warp_rows(frames, scratch, false, 0,
            [&](const kernels::RemapRow& row, int y) { kernels::radial_row(row, y, map); });
}

}  // namespace

TransformSpec optical_distortion_spec() {
  return make_transform(Definition<OpticalDistortionParams, OpticalDistortionDraw>{
      .name = "OpticalDistortion",
      .doc = "Fisheye: a pixel at the share r of the way from the centre (w/2, h/2) to the corner "
             "shows what lies at r (1 + k r^2), k uniform within +-`distort_limit`; bilinear, 0 "
             "outside.",
      .parity = Parity::smooth,
      .params = {field("distort_limit", &OpticalDistortionParams::distort_limit, 0, 1),
                 choice("mode", &OpticalDistortionParams::mode, {"fisheye"})},
      .draw = {field("distort", &OpticalDistortionDraw::distort, -1, 1)},
      .sample = sample,
      .fast = {optical_distortion_fast, optical_distortion_fast},
      .reference = {optical_distortion_reference, optical_distortion_reference},
      .u8 = kBilinearU8,
      .f32 = kBilinearF32});
}

}  // namespace sluice::aug
