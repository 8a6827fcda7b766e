// sluice/train/cpu/attention_bf16.cpp - attention in bf16: products by the library's instructions
// for bf16, probabilities and their gradients in fp32 between them, rounded where they enter one.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/attention.h"
#include "sluice/train/cpu/attention_layout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/train/cpu/attention_bf16.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/train/cpu/attention_rows-inl.h"

#include <algorithm>
#include <cstdint>

#ifndef SLUICE_TRAIN_CPU_ATTENTION_BF16_ONCE_
#define SLUICE_TRAIN_CPU_ATTENTION_BF16_ONCE_
namespace sluice::train::cpu {

/// Queries [first, first + rows) of one pair and the keys they are multiplied with, rounded up.
struct QueryBlock {
  std::int64_t first, rows, keys;
};

}  // namespace sluice::train::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice::train::cpu::HWY_NAMESPACE {

/// scores [rows, keys] to exp(scale · (score − maximum)), as Bf16 [rows, keys] from the same start.
void exp_bf16(float* scores, float* lse, float* inverse, const QueryBlock& block, const Heads& s) {
  auto* p = reinterpret_cast<Bf16*>(scores);
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const std::int64_t keys = s.causal ? block.first + i + 1 : s.tokens;
    const RowSums sums =
        exp_row(p + i * block.keys, scores + i * block.keys, keys, block.keys, s.scale);
    lse[i] = sums.maximum;
    inverse[i] = sums.total;
  }
  finish_rows(lse, inverse, block.rows);
}

/// to = from · factor, row by row; factor null: 1.
void round_bf16(Bf16* to, std::int64_t to_row, const float* from, const float* factor,
                std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i)
    scale_row(to + i * to_row, from + i * columns, columns, factor == nullptr ? 1 : factor[i]);
}

/// delta[i] = dy[i] · y[i].
void dots_bf16(float* delta, const Bf16* dy, const Bf16* y, std::int64_t row, std::int64_t rows,
               std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i)
    delta[i] = dot_row(dy + i * row, y + i * row, columns);
}

/// Scores and d_probabilities [keys, columns] to probabilities and d_scores, as Bf16 of the same
/// shape from the same starts.
void gradient_bf16(float* scores, float* d_scores, const float* lse, const float* delta,
                   const QueryBlock& block, std::int64_t columns, const Heads& s) {
  auto* p = reinterpret_cast<Bf16*>(scores);
  auto* ds = reinterpret_cast<Bf16*>(d_scores);
  for (std::int64_t key = 0; key < block.keys; ++key)
    gradient_column(p + key * columns, ds + key * columns, scores + key * columns,
                    d_scores + key * columns, s.causal ? key - block.first : 0, columns, s.scale,
                    lse, delta);
}

}  // namespace sluice::train::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::train::cpu {

HWY_EXPORT(exp_bf16);
HWY_EXPORT(round_bf16);
HWY_EXPORT(dots_bf16);
HWY_EXPORT(gradient_bf16);

namespace {

/// The library is fast with dense matrices whose sums have a multiple of 32 terms: what has fewer
/// rows, or gaps between them, is copied with rows of zeros at the end.
constexpr std::int64_t kTerms = 32;
std::int64_t whole(std::int64_t count) {
  return (count + kTerms - 1) / kTerms * kTerms;
}
const Bf16* dense(Bf16* copy, const Bf16* from, std::int64_t row, const Heads& s) {
  if (row == s.head_dim && s.tokens % kTerms == 0) return from;
  for (std::int64_t t = 0; t < s.tokens; ++t)
    std::copy_n(from + t * row, s.head_dim, copy + t * s.head_dim);
  std::fill_n(copy + s.tokens * s.head_dim, (whole(s.tokens) - s.tokens) * s.head_dim, Bf16{});
  return copy;
}

/// Queries of a block; of several, all but the last have a whole number of kTerms.
std::int64_t most_rows(const Heads& s) {
  const std::int64_t rows = block_rows(s);
  return rows < s.tokens ? whole(rows) : rows;
}

struct ScratchBf16 {
  ScratchBf16(const Heads& s, void* start) {
    Carver carve(start);
    const std::int64_t rows = whole(most_rows(s)), all = whole(s.tokens) * s.head_dim;
    scores = carve.floats(rows * whole(s.tokens));
    d_scores = carve.floats(rows * whole(s.tokens));
    out = carve.floats(rows * s.head_dim);
    per_query = carve.floats(2 * rows);
    const std::int64_t sums = most_rows(s) < s.tokens ? s.tokens * s.head_dim : 0;
    dk = carve.floats(sums);
    dv = carve.floats(sums);
    for (Bf16*& copy : copies)
      copy = reinterpret_cast<Bf16*>(carve.floats((all + 1) / 2));
    bytes = carve.bytes();
  }
  float *scores, *d_scores, *out, *per_query;
  float *dk, *dv;  // sums over several blocks
  Bf16* copies[4];
  std::size_t bytes;
};

QueryBlock block_at(const Heads& s, std::int64_t first) {
  const std::int64_t rows = std::min(most_rows(s), s.tokens - first);
  return {first, rows, whole(s.causal ? first + rows : s.tokens)};
}

void forward_pair(Bf16* y, float* lse, const Bf16* q, const Bf16* k, const Bf16* v, const Heads& s,
                  const Gemm& gemm, const ScratchBf16& scratch, const PairAt& at) {
  const std::int64_t dim = s.head_dim;
  k = dense(scratch.copies[0], k + at.by_head, dim, s);
  v = dense(scratch.copies[1], v + at.by_head, dim, s);
  for (std::int64_t first = 0; first < s.tokens; first += most_rows(s)) {
    const QueryBlock block = block_at(s, first);
    gemm.serial({.m = block.rows,
                 .n = block.keys,
                 .k = dim,
                 .transpose_b = true,
                 .lda = dim,
                 .ldb = dim,
                 .ldc = block.keys},
                scratch.scores, q + at.by_head + first * dim, k);
    HWY_DYNAMIC_DISPATCH(exp_bf16)
    (scratch.scores, lse + at.first_token + first, scratch.per_query, block, s);
    gemm.serial(
        {.m = block.rows, .n = dim, .k = block.keys, .lda = block.keys, .ldb = dim, .ldc = dim},
        scratch.out, reinterpret_cast<const Bf16*>(scratch.scores), v);
    HWY_DYNAMIC_DISPATCH(round_bf16)
    (y + at.by_token + first * at.token_row, at.token_row, scratch.out, scratch.per_query,
     block.rows, dim);
  }
}

/// What backward needs of one pair; q, k, v, dy dense.
struct BackwardPair {
  Bf16 *dq, *dk, *dv;
  const Bf16 *q, *k, *v, *dy;
  const Bf16 *given_dy, *given_y;  // rows of all heads
  const float* lse;
  std::int64_t token_row;
};

/// Scores lie [keys, queries]: lse is known, so no row has to be summed, and dv and dk are products
/// of what is stored in order.
void backward_block(const BackwardPair& p, const Heads& s, const Gemm& gemm,
                    const ScratchBf16& scratch, const QueryBlock& block) {
  const std::int64_t dim = s.head_dim, columns = whole(block.rows), first = block.first;
  const GemmShape across{.m = block.keys,
                         .n = columns,
                         .k = dim,
                         .transpose_b = true,
                         .lda = dim,
                         .ldb = dim,
                         .ldc = columns};
  gemm.serial(across, scratch.scores, p.k, p.q + first * dim);
  gemm.serial(across, scratch.d_scores, p.v, p.dy + first * dim);
  float *lse = scratch.per_query, *delta = scratch.per_query + columns;
  constexpr float kNone = 1e30F;  // probability 0 for queries that are not there
  std::fill_n(std::copy_n(p.lse + first, block.rows, lse), columns - block.rows, kNone);
  HWY_DYNAMIC_DISPATCH(dots_bf16)
  (delta, p.given_dy + first * p.token_row, p.given_y + first * p.token_row, p.token_row,
   block.rows, dim);
  std::fill_n(delta + block.rows, columns - block.rows, 0.0F);
  HWY_DYNAMIC_DISPATCH(gradient_bf16)
  (scratch.scores, scratch.d_scores, lse, delta, block, columns, s);
  const auto* probabilities = reinterpret_cast<const Bf16*>(scratch.scores);
  const auto* d_scores = reinterpret_cast<const Bf16*>(scratch.d_scores);
  gemm.serial({.m = columns,
               .n = dim,
               .k = block.keys,
               .transpose_a = true,
               .lda = columns,
               .ldb = dim,
               .ldc = dim},
              scratch.out, d_scores, p.k);
  HWY_DYNAMIC_DISPATCH(round_bf16)(p.dq + first * dim, dim, scratch.out, nullptr, block.rows, dim);
  GemmShape sums{.m = s.causal ? first + block.rows : s.tokens,
                 .n = dim,
                 .k = columns,
                 .lda = columns,
                 .ldb = dim,
                 .ldc = dim};
  if (block.rows == s.tokens) {
    gemm.serial(sums, p.dv, probabilities, p.dy);
    gemm.serial(sums, p.dk, d_scores, p.q);
  } else {
    sums.beta = 1;
    gemm.serial(sums, scratch.dv, probabilities, p.dy + first * dim);
    gemm.serial(sums, scratch.dk, d_scores, p.q + first * dim);
  }
}

}  // namespace

template <>
std::size_t attention_scratch_bytes<Bf16>(const Heads& heads) {
  return ScratchBf16(heads, nullptr).bytes;
}

template <>
void attention_forward<Bf16>(Bf16* y, float* lse, const Bf16* q, const Bf16* k, const Bf16* v,
                             const Heads& heads, const Gemm& gemm, void* scratch, Rows pairs) {
  const ScratchBf16 arrays(heads, scratch);
  for (std::int64_t pair = pairs.begin; pair < pairs.end; ++pair)
    forward_pair(y, lse, q, k, v, heads, gemm, arrays, PairAt(heads, pair));
}

template <>
void attention_backward<Bf16>(Bf16* dq, Bf16* dk, Bf16* dv, const Bf16* dy, const Bf16* y,
                              const float* lse, const Bf16* q, const Bf16* k, const Bf16* v,
                              const Heads& heads, const Gemm& gemm, void* scratch, Rows pairs) {
  const ScratchBf16 arrays(heads, scratch);
  const std::int64_t rows = most_rows(heads), dim = heads.head_dim, all = heads.tokens * dim;
  for (std::int64_t pair = pairs.begin; pair < pairs.end; ++pair) {
    const PairAt at(heads, pair);
    const BackwardPair p{.dq = dq + at.by_head,
                         .dk = dk + at.by_head,
                         .dv = dv + at.by_head,
                         .q = dense(arrays.copies[0], q + at.by_head, dim, heads),
                         .k = dense(arrays.copies[1], k + at.by_head, dim, heads),
                         .v = dense(arrays.copies[2], v + at.by_head, dim, heads),
                         .dy = dense(arrays.copies[3], dy + at.by_token, at.token_row, heads),
                         .given_dy = dy + at.by_token,
                         .given_y = y + at.by_token,
                         .lse = lse + at.first_token,
                         .token_row = at.token_row};
    if (rows < heads.tokens) {
      std::fill_n(arrays.dk, all, 0.0F);
      std::fill_n(arrays.dv, all, 0.0F);
    }
    for (std::int64_t first = 0; first < heads.tokens; first += rows)
      backward_block(p, heads, gemm, arrays, block_at(heads, first));
    if (rows < heads.tokens) {
      HWY_DYNAMIC_DISPATCH(round_bf16)(p.dk, dim, arrays.dk, nullptr, heads.tokens, dim);
      HWY_DYNAMIC_DISPATCH(round_bf16)(p.dv, dim, arrays.dv, nullptr, heads.tokens, dim);
    }
  }
}

}  // namespace sluice::train::cpu
#endif  // HWY_ONCE
