// sluice/aug/corner_illumination.cpp - brightens or darkens with the distance from a corner.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/illumination.h"
#include "sluice/aug/kernels/repeat.h"
#include "sluice/aug/make_transform.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

struct CornerIlluminationParams {
  std::array<double, 2> gain = {0.01, 0.2};
};
struct CornerIlluminationDraw {
  double intensity = 0;  // negative brightens
  int corner = 0;        // 0 top left, 1 top right, 2 bottom right, 3 bottom left
};

CornerIlluminationDraw sample(const CornerIlluminationParams& params, Rng& rng, Shape) {
  const double gain = rng.uniform(params.gain[0], params.gain[1]);
  const double intensity = rng.below(2) == 0 ? gain : -gain;
  return {intensity, static_cast<int>(rng.below(4))};
}

struct Cone {
  int x, y;
  double slope;  // of the factor, per pixel of distance
};
Cone cone_of(const CornerIlluminationDraw& draw, int width, int height) {
  return {draw.corner == 1 || draw.corner == 2 ? width - 1 : 0, draw.corner >= 2 ? height - 1 : 0,
          -draw.intensity / std::hypot(width, height)};
}

template <class T>
void corner_illumination_reference(ImageSpan<T> dst, ImageView<T> src,
                                   const CornerIlluminationDraw& draw) {
  const double largest = kMaxSample<T>;
  const Cone cone = cone_of(draw, src.width(), src.height());
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const double factor = 1 + cone.slope * std::hypot(x - cone.x, y - cone.y);
        const double value = std::clamp(src.at(x, y, c) * factor, 0.0, largest);
        dst.at(x, y, c) = static_cast<T>(std::same_as<T, float> ? value : std::floor(value));
      }
}

template <class T>
void corner_illumination_fast(const Frames<T>& frames, const CornerIlluminationDraw& draw,
                              Scratch& scratch) {
  using Factor = std::conditional_t<std::same_as<T, float>, float, std::int16_t>;
  const ImageView<T>& first = frames.src[0];
  const auto width = static_cast<std::size_t>(first.width());
  const auto pixels = scratch.take<Factor>(width);
  const auto samples = scratch.take<Factor>(first.row_samples());
  const Cone cone = cone_of(draw, first.width(), first.height());
  for (int y = 0; y < first.height(); ++y) {
    kernels::cone_factors(pixels.data(), width, static_cast<float>(cone.x),
                          static_cast<float>(y - cone.y), static_cast<float>(cone.slope));
    kernels::repeat_pixels(samples.data(), pixels.data(), width, first.channels());
    for (std::size_t f = 0; f < frames.size(); ++f)
      kernels::scale_samples(frames.dst[f].row(y), frames.src[f].row(y), samples.data(),
                             first.row_samples());
  }
}

}  // namespace

TransformSpec corner_illumination_spec() {
  using P = CornerIlluminationParams;
  using D = CornerIlluminationDraw;
  return make_transform(Definition<P, D>{
      .name = "CornerIllumination",
      .doc = "Multiplies by 1 - intensity * distance from a corner / hypot(width, height), rounds "
             "down and saturates; corner and sign are even odds, the size is drawn from `gain`.",
      .parity = Parity::pointwise,
      .params = {range("gain", &P::gain, 0, 0.9)},
      .draw = {field("intensity", &D::intensity, -0.9, 0.9, "negative brightens"),
               field("corner", &D::corner, 0, 3, "clockwise from the top left")},
      .sample = sample,
      .fast_u8 = corner_illumination_fast<std::uint8_t>,
      .fast_f32 = corner_illumination_fast<float>,
      .reference_u8 = corner_illumination_reference<std::uint8_t>,
      .reference_f32 = corner_illumination_reference<float>,
      .u8 = {.max = 1, .reason = "factors in steps of 2^-14: a product near a whole number"},
      .f32 = {.max = 1e-6, .reason = "single precision"},
      .in_place = true});
}

}  // namespace sluice::aug
