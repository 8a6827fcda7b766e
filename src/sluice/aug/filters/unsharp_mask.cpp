// sluice/aug/filters/unsharp_mask.cpp - adds what a blur took away, where that is enough.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/filters/gaussian.h"
#include "sluice/aug/kernels/separable.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/staged.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

struct UnsharpMaskParams {
  std::array<int, 2> blur_limit = {3, 7};  // sides of the kernel, odd
  double sigma = 0;                        // pixels; 0: from the side
  std::array<double, 2> alpha = {0.2, 0.5};
  int threshold = 10;
};
struct UnsharpMaskDraw {
  int size = 5;
  double sigma = 0;
  double alpha = 0.5;
  int threshold = 10;
};

UnsharpMaskDraw sample(const UnsharpMaskParams& params, Rng& rng, Shape) {
  const auto& [low, high] = params.blur_limit;
  const auto sizes = static_cast<std::uint64_t>((high - low) / 2 + 1);
  return {low + 2 * static_cast<int>(rng.below(sizes)), params.sigma,
          rng.uniform(params.alpha[0], params.alpha[1]), params.threshold};
}

Status check(const UnsharpMaskParams& params) {
  const auto& [low, high] = params.blur_limit;
  if (low % 2 == 1 && high % 2 == 1) return ok;
  return Error{Errc::invalid_config,
               fmt::format("blur_limit [{}, {}]: accepted are 3, 5 and 7", low, high)};
}

Status fits(const UnsharpMaskDraw& draw, Shape) {
  if (draw.size % 2 == 1) return ok;
  return Error{Errc::invalid_config, fmt::format("size {}: accepted are 3, 5 and 7", draw.size)};
}

/// In 32768ths.
std::int16_t fixed_alpha(const UnsharpMaskDraw& draw) {
  return static_cast<std::int16_t>(std::min<long>(std::lround(draw.alpha * 32768), 32767));
}

/// 1/8192 of a level more than the threshold: the difference of samples that were once u8 may equal
/// it, and then rounding must not decide.
double limit_f32(const UnsharpMaskDraw& draw) {
  return (draw.threshold + 1.0 / 8192) / 255;
}

void unsharp_mask_u8_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                               const UnsharpMaskDraw& draw) {
  const GaussianTaps taps = gaussian_taps(draw.size, draw.sigma);
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const int value = src.at(x, y, c);
        const int off = value - blurred_reference(src, x, y, c, taps);
        const int added = static_cast<int>(std::floor(off * fixed_alpha(draw) / 32768.0 + 0.5));
        dst.at(x, y, c) = static_cast<std::uint8_t>(
            std::abs(off) > draw.threshold ? std::clamp(value + added, 0, 255) : value);
      }
}

void unsharp_mask_f32_reference(ImageSpan<float> dst, ImageView<float> src,
                                const UnsharpMaskDraw& draw) {
  const GaussianTaps taps = gaussian_taps(draw.size, draw.sigma);
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const auto value = static_cast<double>(src.at(x, y, c));
        const double off = value - blurred_reference(src, x, y, c, taps);
        dst.at(x, y, c) = static_cast<float>(std::abs(off) > limit_f32(draw)
                                                 ? std::clamp(value + draw.alpha * off, 0.0, 1.0)
                                                 : value);
      }
}

template <class T>
void unsharp_mask_fast(const Frames<T>& frames, const UnsharpMaskDraw& draw, Scratch& scratch) {
  const GaussianTaps taps = gaussian_taps(draw.size, draw.sigma);
  const auto weights = kernels::symmetric_weights(taps.radius, taps.columns, taps.rows, taps.exact);
  const kernels::UnsharpRule rule{static_cast<std::int16_t>(draw.threshold), fixed_alpha(draw),
                                  static_cast<float>(limit_f32(draw)),
                                  static_cast<float>(draw.alpha)};
  const ImageView<T>& first = frames.src[0];
  const auto line = scratch.take<kernels::LineSample<T>>(
      kernels::line_samples(first.width(), first.channels(), taps.radius));
  for_each_staged(frames, scratch, [&](const ImageSpan<T>& dst, const ImageView<T>& src) {
    kernels::unsharp(dst, src, weights, rule, line.data());
  });
}

}  // namespace

TransformSpec unsharp_mask_spec() {
  return make_transform(Definition<UnsharpMaskParams, UnsharpMaskDraw>{
      .name = "UnsharpMask",
      .doc = "x + alpha (x - b) where |x - b| > threshold, else x; b is x blurred by a Gaussian of "
             "side drawn from `blur_limit`, for u8 rounded to a level.",
      .parity = Parity::smooth,
      .params = {range("blur_limit", &UnsharpMaskParams::blur_limit, 3, 7, "side, odd"),
                 field("sigma", &UnsharpMaskParams::sigma, 0, 100, "pixels; 0: from the side"),
                 range("alpha", &UnsharpMaskParams::alpha, 0, 1),
                 field("threshold", &UnsharpMaskParams::threshold, 0, 255, "levels")},
      .draw = {field("size", &UnsharpMaskDraw::size, 3, 7),
               field("sigma", &UnsharpMaskDraw::sigma, 0, 100),
               field("alpha", &UnsharpMaskDraw::alpha, 0, 1),
               field("threshold", &UnsharpMaskDraw::threshold, 0, 255)},
      .sample = sample,
      .check = check,
      .fits = fits,
      .fast = {unsharp_mask_fast, unsharp_mask_fast},
      .reference = {unsharp_mask_u8_reference, unsharp_mask_f32_reference},
      .f32 = {.max = 2e-6, .reason = "the blur is summed in single precision"}});
}

}  // namespace sluice::aug
