// sluice/aug/pointwise/plankian_jitter.cpp - the light of another colour temperature: red and blue
// times gains. The key is spelt as in the published sets.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/channel_affine.h"
#include "sluice/aug/kernels/lut.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

namespace sluice::aug {
namespace {

constexpr int kStepKelvin = 500, kHighestKelvin = 15'000;
constexpr int kLowestBlackbody = 3'000, kLowestCied = 4'000;
using Rgb = std::array<double, 3>;

// The colour of the light every 500 K, found from the library's outputs at all temperatures.
constexpr std::array<Rgb, 25> kBlackbody{
    {{0.6743, 0.4029, 0.0013}, {0.6281, 0.4241, 0.1665}, {0.5919, 0.4372, 0.2513},
     {0.5623, 0.4457, 0.3154}, {0.5376, 0.4515, 0.3672}, {0.5163, 0.4555, 0.4103},
     {0.4979, 0.4584, 0.4468}, {0.4816, 0.4604, 0.4782}, {0.4672, 0.4619, 0.5053},
     {0.4542, 0.4630, 0.5289}, {0.4426, 0.4638, 0.5497}, {0.4320, 0.4644, 0.5681},
     {0.4223, 0.4648, 0.5844}, {0.4135, 0.4651, 0.5990}, {0.4054, 0.4653, 0.6121},
     {0.3980, 0.4654, 0.6239}, {0.3911, 0.4655, 0.6346}, {0.3847, 0.4656, 0.6444},
     {0.3787, 0.4656, 0.6532}, {0.3732, 0.4656, 0.6613}, {0.3680, 0.4655, 0.6688},
     {0.3632, 0.4655, 0.6756}, {0.3586, 0.4655, 0.6820}, {0.3544, 0.4654, 0.6878},
     {0.3503, 0.4653, 0.6933}}};
constexpr std::array<Rgb, 23> kCied{
    {{0.5829, 0.4421, 0.2288}, {0.5510, 0.4514, 0.2948}, {0.5246, 0.4576, 0.3488},
     {0.5021, 0.4618, 0.3941}, {0.4826, 0.4646, 0.4325}, {0.4654, 0.4667, 0.4654},
     {0.4502, 0.4681, 0.4938}, {0.4364, 0.4692, 0.5186}, {0.4240, 0.4700, 0.5403},
     {0.4127, 0.4705, 0.5594}, {0.4023, 0.4709, 0.5763}, {0.3928, 0.4713, 0.5914},
     {0.3839, 0.4715, 0.6049}, {0.3757, 0.4716, 0.6171}, {0.3681, 0.4717, 0.6281},
     {0.3609, 0.4718, 0.6380}, {0.3543, 0.4719, 0.6472}, {0.3480, 0.4719, 0.6555},
     {0.3421, 0.4719, 0.6631}, {0.3365, 0.4719, 0.6702}, {0.3313, 0.4719, 0.6766},
     {0.3263, 0.4719, 0.6826}, {0.3217, 0.4719, 0.6882}}};

struct PlankianJitterParams {
  std::string mode = "blackbody";
};
struct PlankianJitterDraw {
  int temperature = 6'000;  // kelvin
  bool blackbody = true;
};

PlankianJitterDraw sample(const PlankianJitterParams& params, Rng& rng, Shape) {
  const bool blackbody = params.mode == "blackbody";
  const int lowest = blackbody ? kLowestBlackbody : kLowestCied;
  const auto span = static_cast<std::uint64_t>(kHighestKelvin - lowest);
  return {lowest + static_cast<int>(rng.below(span)), blackbody};
}

/// Colours between two of the table are their mix; green keeps its level.
Rgb gains(const PlankianJitterDraw& draw) {
  const std::span<const Rgb> table = draw.blackbody ? std::span<const Rgb>(kBlackbody) : kCied;
  const int lowest = draw.blackbody ? kLowestBlackbody : kLowestCied;
  const int above = std::clamp(draw.temperature, lowest, kHighestKelvin) - lowest;
  const auto entry = std::min(static_cast<std::size_t>(above / kStepKelvin), table.size() - 2);
  const double share = static_cast<double>(above) / kStepKelvin - static_cast<double>(entry);
  Rgb mix{};
  for (std::size_t c = 0; c < 3; ++c)
    mix[c] = table[entry][c] * (1 - share) + table[entry + 1][c] * share;
  return {mix[0] / mix[1], 1, mix[2] / mix[1]};
}

template <class T>
void jitter_reference(ImageSpan<T> dst, ImageView<T> src, const PlankianJitterDraw& draw) {
  const Rgb gain = gains(draw);
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < 3; ++c) {
        double value = static_cast<double>(src.at(x, y, c)) * gain[static_cast<std::size_t>(c)];
        if (std::same_as<T, std::uint8_t>) value = std::floor(value + kRounding);
        dst.at(x, y, c) =
            static_cast<T>(std::clamp(value, 0.0, static_cast<double>(kMaxSample<T>)));
      }
}

void jitter_u8(const Frames<std::uint8_t>& frames, const PlankianJitterDraw& draw, Scratch&) {
  const Rgb gain = gains(draw);
  std::array<std::uint8_t, 3 * kernels::kLevels> tables{};
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < kernels::kLevels; ++i)
      tables[kernels::kLevels * c + i] =
          static_cast<std::uint8_t>(std::min(static_cast<double>(i) * gain[c] + kRounding, 255.0));
  for_each_run(frames, [&](std::uint8_t* dst, const std::uint8_t* src, std::size_t count) {
    kernels::lut_channels(dst, src, count / 3, 3, tables.data());
  });
}

void jitter_f32(const Frames<float>& frames, const PlankianJitterDraw& draw, Scratch&) {
  const Rgb gain = gains(draw);
  const std::array<float, 3> scale{static_cast<float>(gain[0]), 1, static_cast<float>(gain[2])};
  const std::array<float, 3> offset{};
  for_each_run(frames, [&](float* dst, const float* src, std::size_t count) {
    kernels::affine_channels_clamped(dst, src, count / 3, 3, scale.data(), offset.data());
  });
}

}  // namespace

TransformSpec plankian_jitter_spec() {
  return make_transform(Definition<PlankianJitterParams, PlankianJitterDraw>{
      .name = "PlankianJitter",
      .doc = "Red and blue times the gains, green being 1, of a light whose temperature is drawn "
             "from 3000 K (cied: 4000 K) to 15000 K, clipped; u8 rounded down.",
      .parity = Parity::pointwise,
      .params = {choice("mode", &PlankianJitterParams::mode, {"blackbody", "cied"})},
      .draw = {field("temperature", &PlankianJitterDraw::temperature, kLowestBlackbody,
                     kHighestKelvin, "kelvin"),
               field("blackbody", &PlankianJitterDraw::blackbody)},
      .sample = sample,
      .fast = {jitter_u8, jitter_f32},
      .reference = {jitter_reference, jitter_reference},
      .f32 = {.max = 2e-7, .reason = "gains and products are single precision"},
      .channels = ChannelRule::rgb,
      .in_place = true});
}

}  // namespace sluice::aug
