// sluice/aug/plasma_contrast.cpp - moves samples from or towards the mean, by a fractal pattern.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/plasma_pattern.h"

namespace sluice::aug {
namespace {

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

}  // namespace

TransformSpec plasma_contrast_spec() {
  auto plasma = plasma_definition(
      "PlasmaContrast",
      "x + strength * p * (x - mean), the mean over all samples of a frame, p a fractal "
      "pattern of 0 to 1, the same in all channels and frames; rounds and saturates. "
      "Strength is drawn from -0.3 to 0.3.",
      -1, "drawn from -0.3 to 0.3");
  plasma.sample = sample_signed_plasma;
  plasma.fast_u8 = plasma_contrast_fast<std::uint8_t>;
  plasma.fast_f32 = plasma_contrast_fast<float>;
  plasma.reference_u8 = plasma_contrast_reference<std::uint8_t>;
  plasma.reference_f32 = plasma_contrast_reference<float>;
  return make_transform(std::move(plasma));
}

}  // namespace sluice::aug
