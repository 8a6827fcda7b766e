// sluice/aug/pointwise/rgb_shift.cpp - a number added to each of red, green and blue.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/channel_affine.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::aug {
namespace {

struct RgbShiftParams {
  double pixel_shift = 100;  // levels of 255, either way
};
struct RgbShiftDraw {
  std::array<double, 3> shift{};  // levels of 255
};

RgbShiftDraw sample(const RgbShiftParams& params, Rng& rng, Shape) {
  RgbShiftDraw draw;
  for (double& shift : draw.shift)
    shift = rng.uniform(-params.pixel_shift, params.pixel_shift);
  return draw;
}

void shift_u8_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                        const RgbShiftDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < 3; ++c)
        dst.at(x, y, c) = static_cast<std::uint8_t>(std::clamp(
            src.at(x, y, c) + static_cast<int>(std::trunc(draw.shift[static_cast<std::size_t>(c)])),
            0, 255));
}

void shift_f32_reference(ImageSpan<float> dst, ImageView<float> src, const RgbShiftDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < 3; ++c)
        dst.at(x, y, c) = static_cast<float>(std::clamp(
            static_cast<double>(src.at(x, y, c)) + draw.shift[static_cast<std::size_t>(c)] / 255,
            0.0, 1.0));
}

void shift_u8(const Frames<std::uint8_t>& frames, const RgbShiftDraw& draw, Scratch&) {
  std::array<std::uint8_t, 3> up{}, down{};
  for (std::size_t c = 0; c < 3; ++c) {
    const auto whole = static_cast<int>(draw.shift[c]);  // towards 0
    up[c] = static_cast<std::uint8_t>(std::max(whole, 0));
    down[c] = static_cast<std::uint8_t>(std::max(-whole, 0));
  }
  for_each_run(frames, [&](std::uint8_t* dst, const std::uint8_t* src, std::size_t count) {
    kernels::shift_channels(dst, src, count / 3, 3, up.data(), down.data());
  });
}

void shift_f32(const Frames<float>& frames, const RgbShiftDraw& draw, Scratch&) {
  const std::array<float, 3> scale{1, 1, 1};
  std::array<float, 3> offset{};
  for (std::size_t c = 0; c < 3; ++c)
    offset[c] = static_cast<float>(draw.shift[c] / 255);
  for_each_run(frames, [&](float* dst, const float* src, std::size_t count) {
    kernels::affine_channels_clamped(dst, src, count / 3, 3, scale.data(), offset.data());
  });
}

}  // namespace

TransformSpec rgb_shift_spec() {
  return make_transform(Definition<RgbShiftParams, RgbShiftDraw>{
      .name = "RGBShift",
      .doc = "To each channel a number between -`pixel_shift` and `pixel_shift` is added, the "
             "result clipped; u8: its whole part, f32: 1/255 of it.",
      .parity = Parity::pointwise,
      .params = {field("pixel_shift", &RgbShiftParams::pixel_shift, 0, 255, "levels of 255")},
      .draw = {field("shift", &RgbShiftDraw::shift, -255, 255, "levels of 255")},
      .sample = sample,
      .fast = {shift_u8, shift_f32},
      .reference = {shift_u8_reference, shift_f32_reference},
      .f32 = {.max = 2e-7, .reason = "the shift and the sum are single precision"},
      .channels = ChannelRule::rgb,
      .in_place = true});
}

}  // namespace sluice::aug
