// sluice/aug/pointwise/contrast.cpp - the distance of every sample from the mean grey, times a
// factor.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/byte_map.h"
#include "sluice/aug/kernels/channel_affine.h"
#include "sluice/aug/kernels/channel_stats.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::aug {
namespace {

struct ContrastParams {
  std::array<double, 2> contrast_limit{0.2, 0.2};  // less 1
};
struct ContrastDraw {
  double factor = 1.2;
};

ContrastDraw sample(const ContrastParams& params, Rng& rng, Shape) {
  return {1 + rng.uniform(params.contrast_limit[0], params.contrast_limit[1])};
}

constexpr std::array<double, 3> kGrey{0.299, 0.587, 0.114};  // BT.601

/// The mean of what Grayscale makes of the image, before rounding: weighted for RGB, else plain.
template <class T>
double mean_reference(ImageView<T> src) {
  double sum = 0;
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        sum += static_cast<double>(src.at(x, y, c)) *
               (src.channels() == 3 ? kGrey[static_cast<std::size_t>(c)] : 1.0 / src.channels());
  return sum / src.width() / src.height();
}

template <class T>
void contrast_reference(ImageSpan<T> dst, ImageView<T> src, const ContrastDraw& draw) {
  const double mean = mean_reference(src);
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        double value = mean + draw.factor * (static_cast<double>(src.at(x, y, c)) - mean);
        if (std::same_as<T, std::uint8_t>) value = std::floor(value + kRounding);
        dst.at(x, y, c) =
            static_cast<T>(std::clamp(value, 0.0, static_cast<double>(kMaxSample<T>)));
      }
}

/// Sum is std::uint64_t for bytes, which is exact, and double for floats. Channels that weigh alike
/// need no sums of their own.
template <class Sum, class T>
double mean_of(ImageView<T> src) {
  const std::size_t kinds = src.channels() == 3 ? 3 : 1;
  const std::size_t row = src.row_samples() / kinds;
  const auto height = static_cast<std::size_t>(src.height());
  std::array<Sum, 3> sums{};
  if (src.contiguous())
    kernels::add_channel_sums(sums.data(), src.data(), row * height, kinds);
  else
    for (int y = 0; y < src.height(); ++y)
      kernels::add_channel_sums(sums.data(), src.row(y), row, kinds);
  double sum = 0;
  for (std::size_t c = 0; c < kinds; ++c)
    sum += static_cast<double>(sums[c]) * (kinds == 3 ? kGrey[c] : 1.0);
  return sum / static_cast<double>(row * height);
}

template <class T>
Frames<T> frame_of(const Frames<T>& frames, std::size_t f) {
  return {frames.dst.subspan(f, 1), frames.src.subspan(f, 1)};
}

void contrast_u8(const Frames<std::uint8_t>& frames, const ContrastDraw& draw, Scratch&) {
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const double offset = (1 - draw.factor) * mean_of<std::uint64_t>(frames.src[f]) + kRounding;
    std::array<std::uint8_t, 256> table{};
    for (int i = 0; i < 256; ++i)
      table[static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(std::clamp(i * draw.factor + offset, 0.0, 255.0));
    const kernels::ByteMap map = kernels::plan_byte_map(table, draw.factor);
    for_each_run(frame_of(frames, f),
                 [&](std::uint8_t* dst, const std::uint8_t* src, std::size_t count) {
                   kernels::map_bytes(dst, src, count, map);
                 });
  }
}

void contrast_f32(const Frames<float>& frames, const ContrastDraw& draw, Scratch&) {
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const auto factor = static_cast<float>(draw.factor);
    const auto offset = static_cast<float>((1 - draw.factor) * mean_of<double>(frames.src[f]));
    for_each_run(frame_of(frames, f), [&](float* dst, const float* src, std::size_t count) {
      kernels::affine_channels_clamped(dst, src, count, 1, &factor, &offset);
    });
  }
}

}  // namespace

TransformSpec contrast_spec() {
  return make_transform(Definition<ContrastParams, ContrastDraw>{
      .name = "Contrast",
      .doc = "m + (1 + a value of `contrast_limit`) (x - m), clipped, m the mean grey of the image "
             "(BT.601 for RGB, the mean of all samples otherwise); u8 rounded down.",
      .parity = Parity::pointwise,
      .params = {range("contrast_limit", &ContrastParams::contrast_limit, -1, 10,
                       "the factor less 1")},
      .draw = {field("factor", &ContrastDraw::factor, 0, 11)},
      .sample = sample,
      .fast = {contrast_u8, contrast_f32},
      .reference = {contrast_reference, contrast_reference},
      .f32 = {.max = 1e-6,
              .reason = "the mean is summed, and the product made, in single precision"},
      .in_place = true});
}

}  // namespace sluice::aug
