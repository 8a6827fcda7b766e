// sluice/aug/procedural/gaussian_noise.cpp - adds independent normal noise to every sample.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/noise_levels.h"
#include "sluice/aug/kernels/random.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/procedural/noise.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

struct GaussianNoiseParams {
  double mean = 0;  // shares of the largest sample
  double std = 0.44;
  bool per_channel = true;
};
struct GaussianNoiseDraw {
  double mean = 0;
  double std = 0.44;
  bool per_channel = true;
  std::uint64_t key = 0;
};

GaussianNoiseDraw sample(const GaussianNoiseParams& params, Rng& rng, Shape) {
  return {params.mean, params.std, params.per_channel, rng.next_u64()};
}

/// Each row starts at a word of its own.
std::uint32_t words_per_row(int width, int channels, bool per_channel) {
  const std::size_t values =
      static_cast<std::size_t>(width) * static_cast<std::size_t>(per_channel ? channels : 1);
  return static_cast<std::uint32_t>((values + 3) / 4);
}

template <class T>
void gaussian_noise_reference(ImageSpan<T> dst, ImageView<T> src, const GaussianNoiseDraw& draw) {
  const NormalNoise noise(draw.key);
  const std::uint64_t row_words = words_per_row(src.width(), src.channels(), draw.per_channel);
  const double largest = kMaxSample<T>;
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const int column = draw.per_channel ? x * src.channels() + c : x;
        const std::uint64_t index =
            4 * row_words * static_cast<std::uint64_t>(y) + static_cast<std::uint64_t>(column);
        const double z = noise.at(index) / kNormalStd;
        const double value =
            std::clamp(src.at(x, y, c) + largest * (draw.mean + draw.std * z), 0.0, largest);
        dst.at(x, y, c) = static_cast<T>(std::same_as<T, float> ? value : std::floor(value + 0.5));
      }
}

/// Repeats each of `width` values `channels` times, in place, from the back.
template <class V>
void spread(V* row, int width, int channels) {
  for (int x = width; x-- > 0;)
    std::fill_n(row + static_cast<std::ptrdiff_t>(x) * channels, channels, row[x]);
}

void gaussian_noise_u8(const Frames<std::uint8_t>& frames, const GaussianNoiseDraw& draw,
                       Scratch& scratch) {
  const ImageView<std::uint8_t>& first = frames.src[0];
  const NormalNoise noise(draw.key);
  const std::uint32_t row_words = words_per_row(first.width(), first.channels(), draw.per_channel);
  const std::size_t samples = first.row_samples();
  const auto levels = scratch.take<std::int16_t>(samples);
  const std::size_t drawn = draw.per_channel ? samples : static_cast<std::size_t>(first.width());
  for (int y = 0; y < first.height(); ++y) {
    kernels::fill_levels(levels.data(), drawn, noise, row_words * static_cast<std::uint32_t>(y),
                         draw.std * 255 / kNormalStd, draw.mean * 255);
    if (!draw.per_channel) spread(levels.data(), first.width(), first.channels());
    for (std::size_t f = 0; f < frames.size(); ++f)
      kernels::add_levels(frames.dst[f].row(y), frames.src[f].row(y), levels.data(), samples);
  }
}

void gaussian_noise_f32(const Frames<float>& frames, const GaussianNoiseDraw& draw,
                        Scratch& scratch) {
  const ImageView<float>& first = frames.src[0];
  const NormalNoise noise(draw.key);
  const std::uint32_t row_words = words_per_row(first.width(), first.channels(), draw.per_channel);
  const std::size_t samples = first.row_samples();
  const auto levels = scratch.take<float>(samples);
  const std::size_t drawn = draw.per_channel ? samples : static_cast<std::size_t>(first.width());
  for (int y = 0; y < first.height(); ++y) {
    kernels::fill_normal(levels.data(), drawn, noise, row_words * static_cast<std::uint32_t>(y),
                         static_cast<float>(draw.std / kNormalStd));
    if (draw.mean != 0)
      for (std::size_t i = 0; i < drawn; ++i)
        levels[i] += static_cast<float>(draw.mean);
    if (!draw.per_channel) spread(levels.data(), first.width(), first.channels());
    for (std::size_t f = 0; f < frames.size(); ++f)
      kernels::add_levels(frames.dst[f].row(y), frames.src[f].row(y), levels.data(), samples);
  }
}

}  // namespace

TransformSpec gaussian_noise_spec() {
  using P = GaussianNoiseParams;
  using D = GaussianNoiseDraw;
  return make_transform(Definition<P, D>{
      .name = "GaussianNoise",
      .doc =
          "Adds mean + std * z (shares of the largest sample, z standard normal, independent for "
          "each sample or, without per_channel, each pixel), rounds and saturates; one field for "
          "all frames of a clip.",
      .parity = Parity::property,
      .params = {field("mean", &P::mean, -1, 1, "share of the largest sample"),
                 field("std", &P::std, 0, 1, "share of the largest sample"),
                 field("per_channel", &P::per_channel, 0, 1, "false: one value per pixel")},
      .draw = {field("mean", &D::mean, -1, 1), field("std", &D::std, 0, 1),
               field("per_channel", &D::per_channel, 0, 1), field("key", &D::key, "of the noise")},
      .sample = sample,
      .fast = {gaussian_noise_u8, gaussian_noise_f32},
      .reference = {gaussian_noise_reference, gaussian_noise_reference},
      .u8 = {.max = 1, .reason = "the scale is fixed point: a sum near a half may round otherwise"},
      .f32 = {.max = 1e-6, .reason = "single precision"},
      .in_place = true});
}

}  // namespace sluice::aug
