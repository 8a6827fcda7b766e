// sluice/aug/pointwise/random_gamma.cpp - samples to the power of gamma.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/lut.h"
#include "sluice/aug/kernels/power.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

#include <array>
#include <cmath>

namespace sluice::aug {
namespace {

struct RandomGammaParams {
  double gamma = 120;  // percent
};
struct RandomGammaDraw {
  double gamma = 1.2;
};

RandomGammaDraw fixed(const RandomGammaParams& params, Shape) {
  return {params.gamma / 100};
}

// What is a whole number on paper must not fall below it by a rounding of pow.
constexpr double kRoundingOfPow = 1e-9;

void gamma_u8_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                        const RandomGammaDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(x, y, c) = static_cast<std::uint8_t>(
            std::floor(255 * std::pow(src.at(x, y, c) / 255.0, draw.gamma) + kRoundingOfPow));
}

void gamma_f32_reference(ImageSpan<float> dst, ImageView<float> src, const RandomGammaDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const auto value = static_cast<double>(src.at(x, y, c));
        dst.at(x, y, c) = static_cast<float>(value > 0 ? std::pow(value, draw.gamma) : 0);
      }
}

void gamma_u8(const Frames<std::uint8_t>& frames, const RandomGammaDraw& draw, Scratch&) {
  std::array<std::uint8_t, kernels::kLevels> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double level = static_cast<double>(i) / 255;
    table[i] = static_cast<std::uint8_t>(std::pow(level, draw.gamma) * 255 + kRoundingOfPow);
  }
  for_each_run(frames, [&](std::uint8_t* dst, const std::uint8_t* src, std::size_t count) {
    kernels::lut(dst, src, count, table.data());
  });
}

void gamma_f32(const Frames<float>& frames, const RandomGammaDraw& draw, Scratch&) {
  const auto gamma = static_cast<float>(draw.gamma);
  for_each_run(frames, [&](float* dst, const float* src, std::size_t count) {
    kernels::power(dst, src, count, gamma);
  });
}

}  // namespace

TransformSpec random_gamma_spec() {
  return make_transform(Definition<RandomGammaParams, RandomGammaDraw>{
      .name = "RandomGamma",
      .doc = "max (x / max)^(gamma / 100); u8 rounded down.",
      .parity = Parity::pointwise,
      .params = {field("gamma", &RandomGammaParams::gamma, 10, 1000, "percent")},
      .draw = {field("gamma", &RandomGammaDraw::gamma, 0.1, 10)},
      .fixed = fixed,
      .fast = {gamma_u8, gamma_f32},
      .reference = {gamma_u8_reference, gamma_f32_reference},
      .f32 = {.max = 2e-6, .reason = "logarithm and exponential in single precision"},
      .in_place = true});
}

}  // namespace sluice::aug
