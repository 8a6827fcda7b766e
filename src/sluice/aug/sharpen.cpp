// sluice/aug/sharpen.cpp - x against its eight neighbours.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/laplacian.h"
#include "sluice/aug/make_transform.h"

namespace sluice::aug {
namespace {

struct SharpenParams {
  std::array<double, 2> alpha = {0.2, 0.5};
  std::array<double, 2> lightness = {0.5, 1.0};
};
struct SharpenDraw {
  double alpha = 0.5;
  double lightness = 1;
};

SharpenDraw sample(const SharpenParams& params, Rng& rng, Shape) {
  const double alpha = rng.uniform(params.alpha[0], params.alpha[1]);
  return {alpha, rng.uniform(params.lightness[0], params.lightness[1])};
}

/// (1 - a) x + a (8 x - neighbours + lightness x).
Laplacian rule_of(const SharpenDraw& draw) {
  return {8, draw.alpha, draw.alpha * (1 - draw.lightness)};
}

template <class T>
void sharpen_reference(ImageSpan<T> dst, ImageView<T> src, const SharpenDraw& draw) {
  laplacian_reference(dst, src, rule_of(draw));
}

template <class T>
void sharpen_fast(const Frames<T>& frames, const SharpenDraw& draw, Scratch& scratch) {
  laplacian_fast(frames, rule_of(draw), scratch);
}

}  // namespace

TransformSpec sharpen_spec() {
  return make_transform(Definition<SharpenParams, SharpenDraw>{
      .name = "Sharpen",
      .doc = "(1 - alpha) x + alpha (L + lightness x), L being 8 x less the eight neighbours; "
             "borders mirrored, clamped. u8 in fixed point, terms in 16ths of a level.",
      .parity = Parity::smooth,
      .params = {range("alpha", &SharpenParams::alpha, 0, 1, "share of the sharpened image"),
                 range("lightness", &SharpenParams::lightness, 0, 2)},
      .draw = {field("alpha", &SharpenDraw::alpha, 0, 1),
               field("lightness", &SharpenDraw::lightness, 0, 2)},
      .sample = sample,
      .fast_u8 = sharpen_fast<std::uint8_t>,
      .fast_f32 = sharpen_fast<float>,
      .reference_u8 = sharpen_reference<std::uint8_t>,
      .reference_f32 = sharpen_reference<float>,
      .f32 = {.max = 4e-6, .reason = "nine samples summed in single precision"}});
}

}  // namespace sluice::aug
