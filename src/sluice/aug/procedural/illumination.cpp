// sluice/aug/procedural/illumination.cpp - a gradient from the top, from a corner, or around a
// spot.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/illumination.h"

#include "sluice/aug/kernels/noise_levels.h"
#include "sluice/aug/kernels/repeat.h"
#include "sluice/aug/make_transform.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

struct LinearIlluminationParams {
  std::array<double, 2> gain = {0.01, 0.2};  // share of the largest sample
};
struct LinearIlluminationDraw {
  double intensity = 0;  // at the bottom; negative darkens
};

LinearIlluminationDraw sample(const LinearIlluminationParams& params, Rng& rng, Shape) {
  const double gain = rng.uniform(params.gain[0], params.gain[1]);
  return {rng.below(2) == 0 ? gain : -gain};
}

template <class T>
void linear_illumination_reference(ImageSpan<T> dst, ImageView<T> src,
                                   const LinearIlluminationDraw& draw) {
  const double largest = kMaxSample<T>;
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const double share = src.height() > 1 ? static_cast<double>(y) / (src.height() - 1) : 0;
        const double value =
            std::clamp(src.at(x, y, c) + largest * draw.intensity * share, 0.0, largest);
        dst.at(x, y, c) = static_cast<T>(std::same_as<T, float> ? value : std::floor(value + 0.5));
      }
}

template <class T>
void linear_illumination_fast(const Frames<T>& frames, const LinearIlluminationDraw& draw,
                              Scratch&) {
  const int height = frames.src[0].height();
  for (std::size_t f = 0; f < frames.size(); ++f)
    for (int y = 0; y < height; ++y) {
      const double share = height > 1 ? static_cast<double>(y) / (height - 1) : 0;
      const std::size_t samples = frames.src[f].row_samples();
      T* const dst = frames.dst[f].row(y);
      const T* const src = frames.src[f].row(y);
      if constexpr (std::same_as<T, float>)
        kernels::add_level(dst, src, samples, static_cast<float>(draw.intensity * share));
      else  // a whole sample plus v, rounded, is the sample plus v rounded
        kernels::add_level(dst, src, samples,
                           static_cast<int>(std::floor(255 * draw.intensity * share + 0.5)));
    }
}

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

TransformSpec linear_illumination_spec() {
  using P = LinearIlluminationParams;
  using D = LinearIlluminationDraw;
  return make_transform(Definition<P, D>{
      .name = "LinearIllumination",
      .doc = "Adds intensity * y / (height - 1), a share of the largest sample, and saturates; the "
             "size of intensity is drawn from `gain`, its sign is even odds.",
      .parity = Parity::pointwise,
      .params = {range("gain", &P::gain, 0, 1, "share of the largest sample")},
      .draw = {field("intensity", &D::intensity, -1, 1, "at the bottom")},
      .sample = sample,
      .fast = {linear_illumination_fast, linear_illumination_fast},
      .reference = {linear_illumination_reference, linear_illumination_reference},
      .u8 = {.max = 1, .reason = "double precision at a half: the sum is rounded, or its addend"},
      .f32 = {.max = 1e-6, .reason = "single precision"},
      .in_place = true});
}

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
      .fast = {corner_illumination_fast, corner_illumination_fast},
      .reference = {corner_illumination_reference, corner_illumination_reference},
      .u8 = {.max = 1, .reason = "factors in steps of 2^-14: a product near a whole number"},
      .f32 = {.max = 1e-6, .reason = "single precision"},
      .in_place = true});
}

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
      .fast = {gaussian_illumination_fast, gaussian_illumination_fast},
      .reference = {gaussian_illumination_reference, gaussian_illumination_reference},
      .u8 = {.max = 1, .reason = "factors in steps of 2^-14: a product near a whole number"},
      .f32 = {.max = 1e-6, .reason = "single precision"},
      .in_place = true});
}

}  // namespace sluice::aug
