// sluice/aug/plasma_brightness.cpp - adds a fractal pattern.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/plasma_pattern.h"

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

}  // namespace

TransformSpec plasma_brightness_spec() {
  auto plasma = plasma_definition(
      "PlasmaBrightness",
      "Adds strength * p, a share of the largest sample, p a fractal pattern of 0 to 1, the "
      "same in all channels and frames; rounds and saturates. Strength is drawn from -0.3 "
      "to 0.3.",
      -1, "share of the largest sample, drawn from -0.3 to 0.3");
  plasma.sample = sample_signed_plasma;
  plasma.fast_u8 = plasma_brightness_fast<std::uint8_t>;
  plasma.fast_f32 = plasma_brightness_fast<float>;
  plasma.reference_u8 = plasma_brightness_reference<std::uint8_t>;
  plasma.reference_f32 = plasma_brightness_reference<float>;
  return make_transform(std::move(plasma));
}

}  // namespace sluice::aug
