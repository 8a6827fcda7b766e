// sluice/aug/procedural/snow.cpp - bleaches dark pixels: their lightness times 2.5.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/snow.h"

#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

struct SnowParams {
  std::array<double, 2> snow_point_range = {0.5, 0.5};
};
struct SnowDraw {
  double snow_point = 0.5;
};

constexpr double kBrighter = 2.5;

SnowDraw sample(const SnowParams& params, Rng& rng, Shape) {
  return {rng.uniform(params.snow_point_range[0], params.snow_point_range[1])};
}

/// Levels; a lightness below it is raised.
double limit_of(const SnowDraw& draw) {
  return 127.5 * draw.snow_point + 85;
}

/// Of levels 0 to 255, to a whole level: in single precision as OpenCV computes it, so that halves
/// fall on the side they fall there. The volatile values cannot be fused with the sum.
double whole_lightness(double most, double least) {
  const volatile float high = static_cast<float>(most) * (1.0F / 255);
  const volatile float low = static_cast<float>(least) * (1.0F / 255);
  return std::nearbyint((high + low) * 0.5F * 255.0F);
}

/// In levels, lightness and the distance of the channels from it scale alike in HLS: the range that
/// the channels may span at a lightness is 255 - |2 l - 255|.
template <class T>
void snow_reference(ImageSpan<T> dst, ImageView<T> src, const SnowDraw& draw) {
  constexpr bool kFloat = std::same_as<T, float>;
  const double unit = kFloat ? 255 : 1;
  const auto range = [](double light) { return 255 - std::abs(2 * light - 255); };
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x) {
      std::array<double, 3> colour{};
      for (int c = 0; c < 3; ++c)
        colour[static_cast<std::size_t>(c)] = src.at(x, y, c) * unit;
      const double least = *std::min_element(colour.begin(), colour.end());
      const double most = *std::max_element(colour.begin(), colour.end());
      const double light = (least + most) / 2;
      const double whole = kFloat ? light : whole_lightness(most, least);
      double raised = std::min(255.0, kBrighter * whole);
      if (!kFloat) raised = std::floor(raised);
      for (int c = 0; c < 3; ++c) {
        const double old = colour[static_cast<std::size_t>(c)];
        double value = old;
        if (whole < limit_of(draw))
          value = light > 0 ? raised + (old - light) * range(raised) / range(light) : raised;
        dst.at(x, y, c) =
            static_cast<T>(kFloat ? value / 255 : std::floor(std::clamp(value, 0.0, 255.0) + 0.5));
      }
    }
}

template <class T>
void snow_fast(const Frames<T>& frames, const SnowDraw& draw, Scratch&) {
  const double limit = limit_of(draw);
  for_each_run(frames, [&](T* dst, const T* src, std::size_t count) {
    kernels::snow(dst, src, count / 3, limit);
  });
}

}  // namespace

TransformSpec snow_spec() {
  using P = SnowParams;
  using D = SnowDraw;
  return make_transform(Definition<P, D>{
      .name = "Snow",
      .doc =
          "Pixels whose HLS lightness is below snow_point / 2 + 1/3 have it times 2.5, at most 1, "
          "hue and saturation kept.",
      .parity = Parity::smooth,
      .params = {range("snow_point_range", &P::snow_point_range, 0, 1)},
      .draw = {field("snow_point", &D::snow_point, 0, 1)},
      .sample = sample,
      .fast = {snow_fast, snow_fast},
      .reference = {snow_reference, snow_reference},
      .u8 = {.max = 1, .reason = "fixed point: a value near where rounding turns"},
      .f32 = {.max = 5e-6,
              .outliers = 0.001,
              .reason = "single precision; a lightness at the limit may fall on either side"},
      .channels = ChannelRule::rgb,
      .in_place = true});
}

}  // namespace sluice::aug
