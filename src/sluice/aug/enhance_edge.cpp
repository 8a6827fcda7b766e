// sluice/aug/enhance_edge.cpp - x against its eight neighbours, without a change of brightness.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/laplacian.h"
#include "sluice/aug/make_transform.h"

namespace sluice::aug {
namespace {

struct EnhanceEdgeParams {
  std::string mode = "edge";
  std::array<double, 2> alpha = {0.5, 1.0};
};
struct EnhanceEdgeDraw {
  double alpha = 1;
};

EnhanceEdgeDraw sample(const EnhanceEdgeParams& params, Rng& rng, Shape) {
  return {rng.uniform(params.alpha[0], params.alpha[1])};
}

/// The kernel of alpha 1 is -1/2 around 5.
Laplacian rule_of(const EnhanceEdgeDraw& draw) {
  return {8, draw.alpha / 2, 0};
}

template <class T>
void enhance_edge_reference(ImageSpan<T> dst, ImageView<T> src, const EnhanceEdgeDraw& draw) {
  laplacian_reference(dst, src, rule_of(draw));
}

template <class T>
void enhance_edge_fast(const Frames<T>& frames, const EnhanceEdgeDraw& draw, Scratch& scratch) {
  laplacian_fast(frames, rule_of(draw), scratch);
}

}  // namespace

TransformSpec enhance_edge_spec() {
  return make_transform(Definition<EnhanceEdgeParams, EnhanceEdgeDraw>{
      .name = "EnhanceEdge",
      .doc = "(1 - alpha) x + alpha E(x), E has 5 in the centre and -1/2 on the eight neighbours; "
             "borders mirrored, clamped. u8 in fixed point, the term in 16ths of a level.",
      .parity = Parity::smooth,
      .params = {choice("mode", &EnhanceEdgeParams::mode, {"edge"}),
                 range("alpha", &EnhanceEdgeParams::alpha, 0, 1, "share of the enhanced image")},
      .draw = {field("alpha", &EnhanceEdgeDraw::alpha, 0, 1)},
      .sample = sample,
      .fast_u8 = enhance_edge_fast<std::uint8_t>,
      .fast_f32 = enhance_edge_fast<float>,
      .reference_u8 = enhance_edge_reference<std::uint8_t>,
      .reference_f32 = enhance_edge_reference<float>,
      .f32 = {.max = 4e-6, .reason = "the neighbours are summed in single precision"}});
}

}  // namespace sluice::aug
