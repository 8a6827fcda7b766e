// sluice/aug/gaussian_illumination.cpp - a spot of light or shadow.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/illumination.h"
#include "sluice/aug/kernels/repeat.h"
#include "sluice/aug/make_transform.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

struct GaussianIlluminationParams {
  std::array<double, 2> gain = {0.01, 0.2};
};
struct GaussianIlluminationDraw {
  double intensity = 0;                      // negative darkens
  std::array<double, 2> centre{{0.5, 0.5}};  // shares of width and height
  double sigma = 0.5;                        // share of the longer side
};

constexpr double kNearestCentre = 0.1, kFarthestCentre = 0.9;
constexpr double kSmallestSigma = 0.2, kLargestSigma = 1.0;

GaussianIlluminationDraw sample(const GaussianIlluminationParams& params, Rng& rng, Shape) {
  GaussianIlluminationDraw draw;
  const double gain = rng.uniform(params.gain[0], params.gain[1]);
  draw.intensity = rng.below(2) == 0 ? gain : -gain;
  for (double& at : draw.centre)
    at = rng.uniform(kNearestCentre, kFarthestCentre);
  draw.sigma = rng.uniform(kSmallestSigma, kLargestSigma);
  return draw;
}

template <class T>
void gaussian_illumination_reference(ImageSpan<T> dst, ImageView<T> src,
                                     const GaussianIlluminationDraw& draw) {
  const double largest = kMaxSample<T>;
  const double sigma = draw.sigma * std::max(src.width(), src.height());
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const double dx = x - draw.centre[0] * src.width(), dy = y - draw.centre[1] * src.height();
        const double factor =
            1 + draw.intensity * std::exp(-(dx * dx + dy * dy) / (2 * sigma * sigma));
        const double value = std::clamp(src.at(x, y, c) * factor, 0.0, largest);
        dst.at(x, y, c) = static_cast<T>(std::same_as<T, float> ? value : std::floor(value));
      }
}

/// The field is the product of a profile along x and one along y.
double profile(int at, double centre, double sigma) {
  const double off = (at - centre) / sigma;
  return std::exp(-0.5 * off * off);
}

template <class T>
void gaussian_illumination_fast(const Frames<T>& frames, const GaussianIlluminationDraw& draw,
                                Scratch& scratch) {
  constexpr bool kFloat = std::same_as<T, float>;
  using Value = std::conditional_t<kFloat, float, std::int16_t>;
  const ImageView<T>& first = frames.src[0];
  const auto width = static_cast<std::size_t>(first.width());
  const auto pixels = scratch.take<Value>(width);
  const auto samples = scratch.take<Value>(first.row_samples());
  const double sigma = draw.sigma * std::max(first.width(), first.height());
  for (int x = 0; x < first.width(); ++x) {
    const double value = profile(x, draw.centre[0] * first.width(), sigma);
    pixels[static_cast<std::size_t>(x)] =
        static_cast<Value>(kFloat ? value : std::floor(value * 32767 + 0.5));
  }
  kernels::repeat_pixels(samples.data(), pixels.data(), width, first.channels());
  for (int y = 0; y < first.height(); ++y) {
    const double value = draw.intensity * profile(y, draw.centre[1] * first.height(), sigma);
    const auto amplitude =
        static_cast<Value>(kFloat ? value : std::floor(value * kernels::kFactorOne + 0.5));
    for (std::size_t f = 0; f < frames.size(); ++f)
      kernels::scale_by_profile(frames.dst[f].row(y), frames.src[f].row(y), samples.data(),
                                amplitude, first.row_samples());
  }
}

}  // namespace

TransformSpec gaussian_illumination_spec() {
  using P = GaussianIlluminationParams;
  using D = GaussianIlluminationDraw;
  return make_transform(Definition<P, D>{
      .name = "GaussianIllumination",
      .doc =
          "Multiplies by 1 + intensity * exp(-r^2 / (2 s^2)), r from a centre drawn within 0.1 to "
          "0.9 of the sides, s 0.2 to 1 times the longer side; rounds down and saturates. The "
          "size of intensity is drawn from `gain`, its sign is even odds.",
      .parity = Parity::pointwise,
      .params = {range("gain", &P::gain, 0, 0.9)},
      .draw = {field("intensity", &D::intensity, -0.9, 0.9, "negative darkens"),
               field("centre", &D::centre, -10, 10, "shares of width and height"),
               field("sigma", &D::sigma, 1e-3, 100, "share of the longer side")},
      .sample = sample,
      .fast_u8 = gaussian_illumination_fast<std::uint8_t>,
      .fast_f32 = gaussian_illumination_fast<float>,
      .reference_u8 = gaussian_illumination_reference<std::uint8_t>,
      .reference_f32 = gaussian_illumination_reference<float>,
      .u8 = {.max = 1, .reason = "factors in steps of 2^-14: a product near a whole number"},
      .f32 = {.max = 1e-6, .reason = "single precision"},
      .in_place = true});
}

}  // namespace sluice::aug
