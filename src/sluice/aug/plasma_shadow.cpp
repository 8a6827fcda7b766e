// sluice/aug/plasma_shadow.cpp - darkens by a fractal pattern.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/plasma_pattern.h"

namespace sluice::aug {
namespace {

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

TransformSpec plasma_shadow_spec() {
  auto plasma = plasma_definition(
      "PlasmaShadow",
      "x * (1 - strength * p), rounded down, p a fractal pattern of 0 to 1, the same in all "
      "channels and frames. Strength is drawn from 0.3 to 0.7.",
      0, "0.3 to 0.7 when drawn");
  plasma.sample = sample_shadow;
  plasma.fast_u8 = plasma_shadow_fast<std::uint8_t>;
  plasma.fast_f32 = plasma_shadow_fast<float>;
  plasma.reference_u8 = plasma_shadow_reference<std::uint8_t>;
  plasma.reference_f32 = plasma_shadow_reference<float>;
  return make_transform(std::move(plasma));
}

}  // namespace sluice::aug
