// sluice/aug/saturation.cpp - moves the saturation of 8-bit HSV by a drawn amount.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/colour_chain.h"

#include <cmath>

namespace sluice::aug {
namespace {

struct SaturationParams {
  double saturation_factor = 0.5;  // share of 255
};
struct SaturationDraw {
  double shift = 0;  // levels
};

SaturationDraw sample(const SaturationParams& params, Rng& rng, Shape) {
  const double most = params.saturation_factor * 255;
  return {rng.uniform(-most, most)};
}

HsvShift steps_of(const SaturationDraw& draw) {
  return {.saturation = static_cast<int>(std::trunc(draw.shift))};
}

template <class T>
void saturation_reference(ImageSpan<T> dst, ImageView<T> src, const SaturationDraw& draw) {
  hsv_shift_reference(dst, src, steps_of(draw));
}

template <class T>
void saturation_fast(const Frames<T>& frames, const SaturationDraw& draw, Scratch&) {
  hsv_shift_fast(frames, steps_of(draw));
}

}  // namespace

TransformSpec saturation_spec() {
  return make_transform(Definition<SaturationParams, SaturationDraw>{
      .name = "Saturation",
      .doc =
          "S of 8-bit HSV plus a shift within 255 times -saturation_factor to saturation_factor, "
          "whole levels towards 0, clipped; grey stays grey.",
      .parity = Parity::pointwise,
      .params = {field("saturation_factor", &SaturationParams::saturation_factor, 0, 1,
                       "largest shift, of 255")},
      .draw = {field("shift", &SaturationDraw::shift, -255, 255)},
      .sample = sample,
      .fast_u8 = saturation_fast<std::uint8_t>,
      .fast_f32 = saturation_fast<float>,
      .reference_u8 = saturation_reference<std::uint8_t>,
      .reference_f32 = saturation_reference<float>,
      .f32 = {.max = 1e-7, .reason = "a product with 1/255 instead of a quotient"},
      .channels = ChannelRule::rgb,
      .in_place = true});
}

}  // namespace sluice::aug
