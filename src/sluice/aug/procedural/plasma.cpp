// sluice/aug/procedural/plasma.cpp - a fractal pattern brightens, changes the contrast or casts a
// shadow.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/procedural/plasma_pattern.h"

namespace sluice::aug {
namespace {

template <class T>
void plasma_brightness_reference(ImageSpan<T> dst, ImageView<T> src, const PlasmaDraw& draw) {
  const double most = kMaxSample<T> * draw.strength;
  plasma_reference(dst, src, draw, 0.5, [&](double sample, double p) { return sample + most * p; });
}

template <class T>
void plasma_brightness_fast(const Frames<T>& frames, const PlasmaDraw& draw, Scratch& scratch) {
  for_plasma_rows(
      frames, draw, scratch,
      [&](T* dst, const T* src, const kernels::PlasmaRow& row, std::size_t samples, std::size_t) {
        kernels::plasma_brighten(dst, src, row, samples, draw.strength);
      });
}

template <class T>
double mean_of(const ImageView<T>& image) {
  double sum = 0;
  if (image.contiguous())
    sum = kernels::sum_of(image.data(), image.samples());
  else
    for (int y = 0; y < image.height(); ++y)
      sum += kernels::sum_of(image.row(y), image.row_samples());
  return sum / static_cast<double>(image.samples());
}

template <class T>
void plasma_contrast_reference(ImageSpan<T> dst, ImageView<T> src, const PlasmaDraw& draw) {
  double mean = 0;
  for (int y = 0; y < src.height(); ++y)
    for (std::size_t i = 0; i < src.row_samples(); ++i)
      mean += src.row(y)[i];
  mean /= static_cast<double>(src.samples());
  plasma_reference(dst, src, draw, 0.5, [&](double sample, double p) {
    return sample + draw.strength * p * (sample - mean);
  });
}

template <class T>
void plasma_contrast_fast(const Frames<T>& frames, const PlasmaDraw& draw, Scratch& scratch) {
  const auto means = scratch.take<double>(frames.size());  // before dst, which may be src
  for (std::size_t f = 0; f < frames.size(); ++f)
    means[f] = mean_of(frames.src[f]);
  for_plasma_rows(frames, draw, scratch,
                  [&](T* dst, const T* src, const kernels::PlasmaRow& row, std::size_t samples,
                      std::size_t frame) {
                    kernels::plasma_contrast(dst, src, row, samples, draw.strength, means[frame]);
                  });
}

PlasmaDraw sample_shadow(const PlasmaParams& params, Rng& rng, Shape) {
  return draw_plasma(params, rng, 0.3, 0.7);
}

template <class T>
void plasma_shadow_reference(ImageSpan<T> dst, ImageView<T> src, const PlasmaDraw& draw) {
  plasma_reference(dst, src, draw, 0,
                   [&](double sample, double p) { return sample * (1 - draw.strength * p); });
}

template <class T>
void plasma_shadow_fast(const Frames<T>& frames, const PlasmaDraw& draw, Scratch& scratch) {
  for_plasma_rows(
      frames, draw, scratch,
      [&](T* dst, const T* src, const kernels::PlasmaRow& row, std::size_t samples, std::size_t) {
        kernels::plasma_shade(dst, src, row, samples, draw.strength);
      });
}

}  // namespace

TransformSpec plasma_brightness_spec() {
  auto plasma = plasma_definition(
      "PlasmaBrightness",
      "Adds strength * p, a share of the largest sample, p a fractal pattern of 0 to 1, the "
      "same in all channels and frames; rounds and saturates. Strength is drawn from -0.3 "
      "to 0.3.",
      -1, "share of the largest sample, drawn from -0.3 to 0.3");
  plasma.sample = sample_signed_plasma;
  plasma.fast = {plasma_brightness_fast, plasma_brightness_fast};
  plasma.reference = {plasma_brightness_reference, plasma_brightness_reference};
  return make_transform(std::move(plasma));
}

TransformSpec plasma_contrast_spec() {
  auto plasma = plasma_definition(
      "PlasmaContrast",
      "x + strength * p * (x - mean), the mean over all samples of a frame, p a fractal "
      "pattern of 0 to 1, the same in all channels and frames; rounds and saturates. "
      "Strength is drawn from -0.3 to 0.3.",
      -1, "drawn from -0.3 to 0.3");
  plasma.sample = sample_signed_plasma;
  plasma.fast = {plasma_contrast_fast, plasma_contrast_fast};
  plasma.reference = {plasma_contrast_reference, plasma_contrast_reference};
  return make_transform(std::move(plasma));
}

TransformSpec plasma_shadow_spec() {
  auto plasma = plasma_definition(
      "PlasmaShadow",
      "x * (1 - strength * p), rounded down, p a fractal pattern of 0 to 1, the same in all "
      "channels and frames. Strength is drawn from 0.3 to 0.7.",
      0, "0.3 to 0.7 when drawn");
  plasma.sample = sample_shadow;
  plasma.fast = {plasma_shadow_fast, plasma_shadow_fast};
  plasma.reference = {plasma_shadow_reference, plasma_shadow_reference};
  return make_transform(std::move(plasma));
}

}  // namespace sluice::aug
