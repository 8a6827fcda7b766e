// sluice/aug/pointwise/brightness.cpp - every sample times a factor.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/byte_map.h"
#include "sluice/aug/kernels/channel_affine.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::aug {
namespace {

struct BrightnessParams {
  std::array<double, 2> brightness_limit{0.2, 0.2};  // less 1
};
struct BrightnessDraw {
  double factor = 1.2;
};

BrightnessDraw sample(const BrightnessParams& params, Rng& rng, Shape) {
  return {1 + rng.uniform(params.brightness_limit[0], params.brightness_limit[1])};
}

// What is a whole number on paper must not fall below it by a rounding.
constexpr double kRounding = 1.0 / (1 << 20);

void brightness_u8_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                             const BrightnessDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const double value = std::floor(src.at(x, y, c) * draw.factor + kRounding);
        dst.at(x, y, c) = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
      }
}

void brightness_f32_reference(ImageSpan<float> dst, ImageView<float> src,
                              const BrightnessDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const double value = static_cast<double>(src.at(x, y, c)) * draw.factor;
        dst.at(x, y, c) = static_cast<float>(std::clamp(value, 0.0, 1.0));
      }
}

void brightness_u8(const Frames<std::uint8_t>& frames, const BrightnessDraw& draw, Scratch&) {
  std::array<std::uint8_t, 256> table{};
  for (int i = 0; i < 256; ++i)
    table[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(std::min(255.0, i * draw.factor + kRounding));
  const kernels::ByteMap map = kernels::plan_byte_map(table, draw.factor);
  for_each_run(frames, [&](std::uint8_t* dst, const std::uint8_t* src, std::size_t count) {
    kernels::map_bytes(dst, src, count, map);
  });
}

void brightness_f32(const Frames<float>& frames, const BrightnessDraw& draw, Scratch&) {
  const auto factor = static_cast<float>(draw.factor);
  const float nothing = 0;
  for_each_run(frames, [&](float* dst, const float* src, std::size_t count) {
    kernels::affine_channels_clamped(dst, src, count, 1, &factor, &nothing);
  });
}

}  // namespace

TransformSpec brightness_spec() {
  return make_transform(Definition<BrightnessParams, BrightnessDraw>{
      .name = "Brightness",
      .doc = "x times 1 + a value of `brightness_limit`, clipped; u8 rounded down.",
      .parity = Parity::pointwise,
      .params = {range("brightness_limit", &BrightnessParams::brightness_limit, -1, 10,
                       "the factor less 1")},
      .draw = {field("factor", &BrightnessDraw::factor, 0, 11)},
      .sample = sample,
      .fast = {brightness_u8, brightness_f32},
      .reference = {brightness_u8_reference, brightness_f32_reference},
      .f32 = {.max = 2e-7, .reason = "the factor and the product are single precision"},
      .in_place = true});
}

}  // namespace sluice::aug
