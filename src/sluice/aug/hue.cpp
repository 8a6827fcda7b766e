// sluice/aug/hue.cpp - moves the hue of 8-bit HSV by a drawn amount.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/colour_chain.h"

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

template <class T>
void hue_reference(ImageSpan<T> dst, ImageView<T> src, const HueDraw& draw) {
  hsv_shift_reference(dst, src, steps_of(draw));
}

template <class T>
void hue_fast(const Frames<T>& frames, const HueDraw& draw, Scratch&) {
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
      .fast_u8 = hue_fast<std::uint8_t>,
      .fast_f32 = hue_fast<float>,
      .reference_u8 = hue_reference<std::uint8_t>,
      .reference_f32 = hue_reference<float>,
      .f32 = {.max = 1e-7, .reason = "a product with 1/255 instead of a quotient"},
      .channels = ChannelRule::rgb,
      .in_place = true});
}

}  // namespace sluice::aug
