// sluice/train/cpu/attention_f32.cpp - attention in fp32: products in register tiles of our own,
// which skip what the causal mask leaves out and cost no call into a library per small matrix.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/attention.h"
#include "sluice/train/cpu/attention_layout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/train/cpu/attention_f32.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/train/cpu/attention_rows-inl.h"
#include "sluice/train/cpu/tiles-inl.h"

#include <algorithm>
#include <cstdint>

#ifndef SLUICE_TRAIN_CPU_ATTENTION_F32_ONCE_
#define SLUICE_TRAIN_CPU_ATTENTION_F32_ONCE_
namespace sluice::train::cpu {

struct ForwardF32 {
  float* y;
  float* lse;
  const float* q;
  const float* k;
  const float* v;
};
struct BackwardF32 {
  float* dq;
  float* dk;
  float* dv;
  const float* dy;
  const float* y;
  const float* lse;
  const float* q;
  const float* k;
  const float* v;
};

/// Rows in whole vectors: `wide` copies exist where head_dim is no multiple of kPad.
struct ScratchF32 {
  ScratchF32(const Heads& s, void* start) {
    Carver carve(start);
    const std::int64_t keys = padded(s.tokens), block = block_rows(s) * keys;
    const std::int64_t copy = s.head_dim % kPad == 0 ? 0 : s.tokens * padded(s.head_dim);
    k_across = carve.floats(s.head_dim * keys);
    v_across = carve.floats(s.head_dim * keys);
    scores = carve.floats(block);
    d_scores = carve.floats(block);
    for (float*& wide : wides)
      wide = carve.floats(copy);
    bytes = carve.bytes();
  }
  float *k_across, *v_across, *scores, *d_scores;
  float* wides[6];
  std::size_t bytes;
};

}  // namespace sluice::train::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice::train::cpu::HWY_NAMESPACE {

/// to [columns, to_row] = the transpose of from [rows, columns]; zero from `rows` to to_row.
void transpose(float* to, std::int64_t to_row, const float* from, std::int64_t rows,
               std::int64_t columns) {
  const hn::FixedTag<float, 4> f4;
  const hn::Repartition<double, decltype(f4)> d2;
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    std::int64_t c = 0;
    for (; c + 4 <= columns; c += 4) {
      const float* at = from + r * columns + c;
      const auto a = hn::LoadU(f4, at), b = hn::LoadU(f4, at + columns);
      const auto x = hn::LoadU(f4, at + 2 * columns), y = hn::LoadU(f4, at + 3 * columns);
      const auto ab_low = hn::BitCast(d2, hn::InterleaveLower(f4, a, b));
      const auto ab_high = hn::BitCast(d2, hn::InterleaveUpper(f4, a, b));
      const auto xy_low = hn::BitCast(d2, hn::InterleaveLower(f4, x, y));
      const auto xy_high = hn::BitCast(d2, hn::InterleaveUpper(f4, x, y));
      float* out = to + c * to_row + r;
      hn::StoreU(hn::BitCast(f4, hn::InterleaveLower(d2, ab_low, xy_low)), f4, out);
      hn::StoreU(hn::BitCast(f4, hn::InterleaveUpper(d2, ab_low, xy_low)), f4, out + to_row);
      hn::StoreU(hn::BitCast(f4, hn::InterleaveLower(d2, ab_high, xy_high)), f4, out + 2 * to_row);
      hn::StoreU(hn::BitCast(f4, hn::InterleaveUpper(d2, ab_high, xy_high)), f4, out + 3 * to_row);
    }
    for (; c < columns; ++c)
      for (std::int64_t i = r; i < r + 4; ++i)
        to[c * to_row + i] = from[i * columns + c];
  }
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t i = r; i < to_row; ++i)
      to[c * to_row + i] = i < rows ? from[i * columns + c] : 0.0F;
}

/// A matrix whose rows may be read or written in whole vectors.
struct Rowed {
  float* data;
  std::int64_t row;
};
struct ConstRowed {
  const float* data;
  std::int64_t row;
};

/// The rows themselves where head_dim fills whole vectors, else a copy in `wide`.
ConstRowed widened(const float* from, std::int64_t row, float* wide, const Heads& s) {
  if (s.head_dim % kPad == 0) return {from, row};
  const std::int64_t to_row = padded(s.head_dim);
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    std::copy_n(from + t * row, s.head_dim, wide + t * to_row);
    std::fill_n(wide + t * to_row + s.head_dim, to_row - s.head_dim, 0.0F);
  }
  return {wide, to_row};
}
Rowed writable(float* to, std::int64_t row, float* wide, const Heads& s) {
  if (s.head_dim % kPad == 0) return {to, row};
  return {wide, padded(s.head_dim)};
}
void put_back(float* to, std::int64_t row, Rowed from, const Heads& s) {
  if (from.data == to) return;
  for (std::int64_t t = 0; t < s.tokens; ++t)
    std::copy_n(from.data + t * from.row, s.head_dim, to + t * row);
}

/// Where row `token` of the scores is zero to: products read a tile's rows beyond the diagonal.
HWY_INLINE std::int64_t zero_end(const Heads& s, std::int64_t keys) {
  return std::min(padded(keys + kTileRows), padded(s.tokens));
}

void forward_pair(const ForwardF32& p, const Heads& s, const ScratchF32& scratch,
                  std::int64_t pair) {
  const PairAt at(s, pair);
  const std::int64_t dim = s.head_dim, keys_row = padded(s.tokens), block = block_rows(s);
  const ConstRowed v = widened(p.v + at.by_head, dim, scratch.wides[0], s);
  const Rowed y = writable(p.y + at.by_token, at.token_row, scratch.wides[1], s);
  transpose(scratch.k_across, keys_row, p.k + at.by_head, s.tokens, dim);
  for (std::int64_t first = 0; first < s.tokens; first += block) {
    const std::int64_t rows = std::min(block, s.tokens - first);
    const std::int64_t keys = s.causal ? first + rows : s.tokens;
    multiply<false>({.c = scratch.scores,
                     .c_row = keys_row,
                     .a = p.q + at.by_head + first * dim,
                     .a_row = dim,
                     .b = scratch.k_across,
                     .b_row = keys_row,
                     .rows = rows,
                     .columns = keys,
                     .terms = dim,
                     .causal = s.causal ? Causal::columns_to_row : Causal::no,
                     .first_row = first});
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t count = s.causal ? first + i + 1 : s.tokens;
      float* scores = scratch.scores + i * keys_row;
      const RowSums sums = exp_row(scores, scores, count, zero_end(s, count), s.scale);
      p.lse[at.first_token + first + i] = sums.maximum;
      scratch.d_scores[i] = sums.total;
    }
    finish_rows(p.lse + at.first_token + first, scratch.d_scores, rows);
    float* out = y.data + first * y.row;
    multiply<false>({.c = out,
                     .c_row = y.row,
                     .a = scratch.scores,
                     .a_row = keys_row,
                     .b = v.data,
                     .b_row = v.row,
                     .rows = rows,
                     .columns = dim,
                     .terms = keys,
                     .causal = s.causal ? Causal::terms_to_row : Causal::no,
                     .first_row = first});
    for (std::int64_t i = 0; i < rows; ++i)
      scale_row(out + i * y.row, out + i * y.row, padded(dim), scratch.d_scores[i]);
  }
  put_back(p.y + at.by_token, at.token_row, y, s);
}

/// Scores and their gradients of queries [first, first + rows).
void gradient_block(const BackwardF32& p, const Heads& s, const ScratchF32& scratch,
                    const PairAt& at, std::int64_t first, std::int64_t rows) {
  const std::int64_t dim = s.head_dim, keys_row = padded(s.tokens);
  const std::int64_t keys = s.causal ? first + rows : s.tokens;
  const std::int64_t out = at.by_token + first * at.token_row;
  Product product{.c = scratch.scores,
                  .c_row = keys_row,
                  .a = p.q + at.by_head + first * dim,
                  .a_row = dim,
                  .b = scratch.k_across,
                  .b_row = keys_row,
                  .rows = rows,
                  .columns = keys,
                  .terms = dim,
                  .causal = s.causal ? Causal::columns_to_row : Causal::no,
                  .first_row = first};
  multiply<false>(product);
  product.c = scratch.d_scores;
  product.a = p.dy + out;
  product.a_row = at.token_row;
  product.b = scratch.v_across;
  multiply<false>(product);
  for (std::int64_t i = 0; i < rows; ++i) {
    float* scores = scratch.scores + i * keys_row;
    float* d_scores = scratch.d_scores + i * keys_row;
    const std::int64_t count = s.causal ? first + i + 1 : s.tokens, row = out + i * at.token_row;
    gradient_row(scores, d_scores, count, zero_end(s, count), s.scale,
                 p.lse[at.first_token + first + i], dot_row(p.dy + row, p.y + row, dim));
  }
}

void backward_pair(const BackwardF32& p, const Heads& s, const ScratchF32& scratch,
                   std::int64_t pair) {
  const PairAt at(s, pair);
  const std::int64_t dim = s.head_dim, keys_row = padded(s.tokens), block = block_rows(s);
  float *to_q = p.dq + at.by_head, *to_k = p.dk + at.by_head, *to_v = p.dv + at.by_head;
  const ConstRowed q = widened(p.q + at.by_head, dim, scratch.wides[0], s);
  const ConstRowed k = widened(p.k + at.by_head, dim, scratch.wides[1], s);
  const ConstRowed dy = widened(p.dy + at.by_token, at.token_row, scratch.wides[2], s);
  const Rowed dq = writable(to_q, dim, scratch.wides[3], s);
  const Rowed dk = writable(to_k, dim, scratch.wides[4], s);
  const Rowed dv = writable(to_v, dim, scratch.wides[5], s);
  transpose(scratch.k_across, keys_row, p.k + at.by_head, s.tokens, dim);
  transpose(scratch.v_across, keys_row, p.v + at.by_head, s.tokens, dim);
  for (std::int64_t first = 0; first < s.tokens; first += block) {
    const std::int64_t rows = std::min(block, s.tokens - first);
    const std::int64_t keys = s.causal ? first + rows : s.tokens;
    gradient_block(p, s, scratch, at, first, rows);
    multiply<false>({.c = dq.data + first * dq.row,
                     .c_row = dq.row,
                     .a = scratch.d_scores,
                     .a_row = keys_row,
                     .b = k.data,
                     .b_row = k.row,
                     .rows = rows,
                     .columns = dim,
                     .terms = keys,
                     .causal = s.causal ? Causal::terms_to_row : Causal::no,
                     .first_row = first});
    // The first block writes every key, those that no query of it sees with zeros.
    Product product{.c = dv.data,
                    .c_row = dv.row,
                    .a = scratch.scores,
                    .a_row = keys_row,
                    .b = dy.data + first * dy.row,
                    .b_row = dy.row,
                    .rows = first == 0 ? s.tokens : keys,
                    .columns = dim,
                    .terms = rows,
                    .add = first > 0,
                    .causal = s.causal ? Causal::terms_from_row : Causal::no,
                    .first_term = first};
    multiply<true>(product);
    product.c = dk.data;
    product.c_row = dk.row;
    product.a = scratch.d_scores;
    product.b = q.data + first * q.row;
    product.b_row = q.row;
    multiply<true>(product);
  }
  put_back(to_q, dim, dq, s);
  put_back(to_k, dim, dk, s);
  put_back(to_v, dim, dv, s);
}

void forward_f32(const ForwardF32& p, const Heads& s, void* scratch, Rows pairs) {
  const ScratchF32 arrays(s, scratch);
  for (std::int64_t pair = pairs.begin; pair < pairs.end; ++pair)
    forward_pair(p, s, arrays, pair);
}
void backward_f32(const BackwardF32& p, const Heads& s, void* scratch, Rows pairs) {
  const ScratchF32 arrays(s, scratch);
  for (std::int64_t pair = pairs.begin; pair < pairs.end; ++pair)
    backward_pair(p, s, arrays, pair);
}

}  // namespace sluice::train::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::train::cpu {

HWY_EXPORT(forward_f32);
HWY_EXPORT(backward_f32);

template <>
std::size_t attention_scratch_bytes<float>(const Heads& heads) {
  return ScratchF32(heads, nullptr).bytes;
}
template <>
void attention_forward<float>(float* y, float* lse, const float* q, const float* k, const float* v,
                              const Heads& heads, const Gemm& /*gemm*/, void* scratch, Rows pairs) {
  HWY_DYNAMIC_DISPATCH(forward_f32)({y, lse, q, k, v}, heads, scratch, pairs);
}
template <>
void attention_backward<float>(float* dq, float* dk, float* dv, const float* dy, const float* y,
                               const float* lse, const float* q, const float* k, const float* v,
                               const Heads& heads, const Gemm& /*gemm*/, void* scratch,
                               Rows pairs) {
  HWY_DYNAMIC_DISPATCH(backward_f32)({dq, dk, dv, dy, y, lse, q, k, v}, heads, scratch, pairs);
}

}  // namespace sluice::train::cpu
#endif  // HWY_ONCE
