// sluice/aug/colour/hue_saturation.cpp - moves hue or saturation of 8-bit HSV by a drawn amount.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/colour/colour_chain.h"

#include <cmath>

namespace sluice::aug {
namespace {

struct HueParams {
  double hue = 20;  // of 180
};
struct HueDraw {
  double shift = 0;  // of 180 around the circle
};

HueDraw sample(const HueParams& params, Rng& rng, Shape) {
  return {rng.uniform(-params.hue, params.hue)};
}

HsvShift steps_of(const HueDraw& draw) {
  return {.hue = static_cast<int>(std::floor(draw.shift))};
}

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

template <class D, class T>
void hsv_reference(ImageSpan<T> dst, ImageView<T> src, const D& draw) {
  hsv_shift_reference(dst, src, steps_of(draw));
}

template <class D, class T>
void hsv_fast(const Frames<T>& frames, const D& draw, Scratch&) {
  hsv_shift_fast(frames, steps_of(draw));
}

}  // namespace

TransformSpec hue_spec() {
  return make_transform(Definition<HueParams, HueDraw>{
      .name = "Hue",
      .doc =
          "H of 8-bit HSV (0 to 179) plus a shift within -hue to hue, rounded down; S and V stay.",
      .parity = Parity::pointwise,
      .params = {field("hue", &HueParams::hue, 0, 180, "largest shift, of 180 around the circle")},
      .draw = {field("shift", &HueDraw::shift, -180, 180)},
      .sample = sample,
      .fast = {hsv_fast, hsv_fast},
      .reference = {hsv_reference, hsv_reference},
      .f32 = {.max = 1e-7, .reason = "a product with 1/255 instead of a quotient"},
      .channels = ChannelRule::rgb,
      .in_place = true});
}

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
      .fast = {hsv_fast, hsv_fast},
      .reference = {hsv_reference, hsv_reference},
      .f32 = {.max = 1e-7, .reason = "a product with 1/255 instead of a quotient"},
      .channels = ChannelRule::rgb,
      .in_place = true});
}

}  // namespace sluice::aug
