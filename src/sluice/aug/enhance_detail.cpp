// sluice/aug/enhance_detail.cpp - x against its four neighbours, mildly.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/laplacian.h"
#include "sluice/aug/make_transform.h"

namespace sluice::aug {
namespace {

struct EnhanceDetailParams {
  std::string mode = "detail";
  std::array<double, 2> alpha = {0.5, 1.0};
};
struct EnhanceDetailDraw {
  double alpha = 1;
};

EnhanceDetailDraw sample(const EnhanceDetailParams& params, Rng& rng, Shape) {
  return {rng.uniform(params.alpha[0], params.alpha[1])};
}

/// The kernel of alpha 1 is -1/6 beside 10/6.
Laplacian rule_of(const EnhanceDetailDraw& draw) {
  return {4, draw.alpha / 6, 0};
}

template <class T>
void enhance_detail_reference(ImageSpan<T> dst, ImageView<T> src, const EnhanceDetailDraw& draw) {
  laplacian_reference(dst, src, rule_of(draw));
}

template <class T>
void enhance_detail_fast(const Frames<T>& frames, const EnhanceDetailDraw& draw, Scratch& scratch) {
  laplacian_fast(frames, rule_of(draw), scratch);
}

}  // namespace

TransformSpec enhance_detail_spec() {
  return make_transform(Definition<EnhanceDetailParams, EnhanceDetailDraw>{
      .name = "EnhanceDetail",
      .doc = "(1 - alpha) x + alpha E(x), E has 10/6 in the centre and -1/6 on the four sides; "
             "borders mirrored, clamped. u8 in fixed point, the term in 16ths of a level.",
      .parity = Parity::smooth,
      .params = {choice("mode", &EnhanceDetailParams::mode, {"detail"}),
                 range("alpha", &EnhanceDetailParams::alpha, 0, 1, "share of the enhanced image")},
      .draw = {field("alpha", &EnhanceDetailDraw::alpha, 0, 1)},
      .sample = sample,
      .fast_u8 = enhance_detail_fast<std::uint8_t>,
      .fast_f32 = enhance_detail_fast<float>,
      .reference_u8 = enhance_detail_reference<std::uint8_t>,
      .reference_f32 = enhance_detail_reference<float>,
      .f32 = {.max = 4e-6, .reason = "the neighbours are summed in single precision"}});
}

}  // namespace sluice::aug
