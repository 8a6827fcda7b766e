// sluice/train/model/shapes.h - the sizes that the kernels of every backend work by.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sluice::train {

struct Program;

/// Sizes of attention. The map of the tables works within spans of `rope_span` channels (ViT-5:
/// half of head_dim, one axis each; GPT: head_dim): with h = span / 2 and i < h in a span, y[i] =
/// x[i]·cos[i] − x[i+h]·sin[i], y[i+h] = x[i+h]·cos[i+h] + x[i]·sin[i+h].
struct Heads {
  std::int64_t batch = 0, tokens = 0, heads = 0, head_dim = 0;
  std::int64_t rope_span = 0;
  float epsilon = 1e-6F;
  float scale = 0.125F;  // of the scores
  bool causal = false;
};
Heads heads_of(const Program& program);
/// Attention of more tokens goes over pieces of so many rows; a form for bf16 heads of 64 leaves q
/// and k normed and turned, rows up to whole pieces, for its backward: elements of both, 0 of
/// others.
inline constexpr std::int64_t kTokensOfOneStep = 208, kPieceOfTokens = 64;
constexpr std::int64_t prepared_elements(const Heads& s) {
  if (s.head_dim != 64 || s.tokens <= kTokensOfOneStep) return 0;
  return 2 * s.batch * s.heads * s.head_dim *
         ((s.tokens + kPieceOfTokens - 1) / kPieceOfTokens * kPieceOfTokens);
}

/// Does a form for bf16 end a product of rows of `dim` by a weight of `hidden` columns in GELU?
constexpr bool ends_in_gelu(std::int64_t dim, std::int64_t hidden) {
  return dim > 0 && dim % 128 == 0 && hidden > 0 && hidden % 256 == 0;
}

/// Sizes between images and the residual stream.
struct TokenShape {
  std::int64_t batch = 0, image = 0, patch = 0, registers = 0, dim = 0, tokens = 0;
  bool channels_last = false;  // images [batch, y, x, 3] rather than [batch, 3, y, x]
  bool mean = false;           // readout: mean over the patches, not the class token
  [[nodiscard]] constexpr std::int64_t grid() const { return image / patch; }
  [[nodiscard]] constexpr std::int64_t patches() const { return grid() * grid(); }
};
TokenShape tokens_of(const Program& program);

}  // namespace sluice::train
