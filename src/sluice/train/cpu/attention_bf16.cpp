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

#include <cstdint>

#ifndef SLUICE_TRAIN_CPU_ATTENTION_BF16_ONCE_
#define SLUICE_TRAIN_CPU_ATTENTION_BF16_ONCE_
namespace sluice::train::cpu {

/// Queries [first, first + rows) of one pair, and the rows of scores that belong to them.
struct QueryBlock {
  std::int64_t first, rows;
  float* scores;
  float* d_scores;
};

}  // namespace sluice::train::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice::train::cpu::HWY_NAMESPACE {

/// Keys that count for row i of the block; the products read as many as its last row has.
HWY_INLINE std::int64_t keys_of(const Heads& s, const QueryBlock& block, std::int64_t i) {
  return s.causal ? block.first + i + 1 : s.tokens;
}

/// Scores to probabilities; row i of these, as Bf16, begins where row i of the scores does.
void softmax_bf16(const QueryBlock& block, float* lse, const Heads& s) {
  const std::int64_t row = padded(s.tokens), end = padded(keys_of(s, block, block.rows - 1));
  for (std::int64_t i = 0; i < block.rows; ++i) {
    float* scores = block.scores + i * row;
    const RowSums sums = exp_row(scores, keys_of(s, block, i), end, s.scale);
    lse[i] = sums.lse;
    scale_row(reinterpret_cast<Bf16*>(scores), scores, end, sums.inverse);
  }
}

/// Scores and d_probabilities to probabilities and d_scores, as Bf16 in the same places. dy, y and
/// lse are those of the block's first query; `token_row` elements from one to the next.
void gradient_bf16(const QueryBlock& block, const Bf16* dy, const Bf16* y, std::int64_t token_row,
                   const float* lse, const Heads& s) {
  const std::int64_t row = padded(s.tokens), end = padded(keys_of(s, block, block.rows - 1));
  for (std::int64_t i = 0; i < block.rows; ++i) {
    float* scores = block.scores + i * row;
    float* d_scores = block.d_scores + i * row;
    const float delta = dot_row(dy + i * token_row, y + i * token_row, s.head_dim);
    gradient_row(reinterpret_cast<Bf16*>(scores), reinterpret_cast<Bf16*>(d_scores), scores,
                 d_scores, keys_of(s, block, i), end, s.scale, lse[i], delta);
  }
}

void round_bf16(Bf16* to, const float* from, std::int64_t count) {
  const std::int64_t step = lanes();
  std::int64_t i = 0;
  for (; i + step <= count; i += step)
    store(load(from + i), to + i);
  if (i < count) store_part(load_part(from + i, count - i), to + i, count - i);
}

}  // namespace sluice::train::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::train::cpu {

HWY_EXPORT(softmax_bf16);
HWY_EXPORT(gradient_bf16);
HWY_EXPORT(round_bf16);

namespace {

/// With one block the library writes dk and dv itself; the sums of several are fp32, here.
struct ScratchBf16 {
  ScratchBf16(const Heads& s, void* start) {
    Carver carve(start);
    const std::int64_t block = block_rows(s) * padded(s.tokens);
    const std::int64_t sums = block_rows(s) < s.tokens ? s.tokens * s.head_dim : 0;
    scores = carve.floats(block);
    d_scores = carve.floats(block);
    dk = carve.floats(sums);
    dv = carve.floats(sums);
    bytes = carve.bytes();
  }
  float *scores, *d_scores, *dk, *dv;
  std::size_t bytes;
};

void forward_pair(Bf16* y, float* lse, const Bf16* q, const Bf16* k, const Bf16* v, const Heads& s,
                  const Gemm& gemm, const ScratchBf16& scratch, const PairAt& at) {
  const std::int64_t dim = s.head_dim, row = padded(s.tokens), rows_most = block_rows(s);
  for (std::int64_t first = 0; first < s.tokens; first += rows_most) {
    const QueryBlock block{first, std::min(rows_most, s.tokens - first), scratch.scores, nullptr};
    const std::int64_t keys = s.causal ? first + block.rows : s.tokens;
    gemm.serial({.m = block.rows,
                 .n = keys,
                 .k = dim,
                 .transpose_b = true,
                 .lda = dim,
                 .ldb = dim,
                 .ldc = row},
                block.scores, q + at.by_head + first * dim, k + at.by_head);
    HWY_DYNAMIC_DISPATCH(softmax_bf16)(block, lse + at.first_token + first, s);
    gemm.serial(
        {.m = block.rows, .n = dim, .k = keys, .lda = 2 * row, .ldb = dim, .ldc = at.token_row},
        y + at.by_token + first * at.token_row, reinterpret_cast<const Bf16*>(block.scores),
        v + at.by_head);
  }
}

struct BackwardBf16 {
  Bf16* dq;
  Bf16* dk;
  Bf16* dv;
  const Bf16* dy;
  const Bf16* y;
  const float* lse;
  const Bf16* q;
  const Bf16* k;
  const Bf16* v;
};

void backward_block(const BackwardBf16& p, const Heads& s, const Gemm& gemm,
                    const ScratchBf16& scratch, const PairAt& at, const QueryBlock& block) {
  const std::int64_t dim = s.head_dim, row = padded(s.tokens);
  const std::int64_t keys = s.causal ? block.first + block.rows : s.tokens;
  const std::int64_t query = at.by_head + block.first * dim;
  const std::int64_t out = at.by_token + block.first * at.token_row;
  GemmShape scores{.m = block.rows,
                   .n = keys,
                   .k = dim,
                   .transpose_b = true,
                   .lda = dim,
                   .ldb = dim,
                   .ldc = row};
  gemm.serial(scores, block.scores, p.q + query, p.k + at.by_head);
  scores.lda = at.token_row;
  gemm.serial(scores, block.d_scores, p.dy + out, p.v + at.by_head);
  HWY_DYNAMIC_DISPATCH(gradient_bf16)
  (block, p.dy + out, p.y + out, at.token_row, p.lse + at.first_token + block.first, s);
  const auto* probabilities = reinterpret_cast<const Bf16*>(block.scores);
  const auto* d_scores = reinterpret_cast<const Bf16*>(block.d_scores);
  gemm.serial({.m = block.rows, .n = dim, .k = keys, .lda = 2 * row, .ldb = dim, .ldc = dim},
              p.dq + query, d_scores, p.k + at.by_head);
  GemmShape sums{.m = keys,
                 .n = dim,
                 .k = block.rows,
                 .transpose_a = true,
                 .lda = 2 * row,
                 .ldb = at.token_row,
                 .ldc = dim};
  if (block.rows == s.tokens) {
    gemm.serial(sums, p.dv + at.by_head, probabilities, p.dy + out);
    sums.ldb = dim;
    gemm.serial(sums, p.dk + at.by_head, d_scores, p.q + query);
    return;
  }
  sums.beta = 1;
  gemm.serial(sums, scratch.dv, probabilities, p.dy + out);
  sums.ldb = dim;
  gemm.serial(sums, scratch.dk, d_scores, p.q + query);
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
  const BackwardBf16 p{dq, dk, dv, dy, y, lse, q, k, v};
  const std::int64_t rows = block_rows(heads), all = heads.tokens * heads.head_dim;
  for (std::int64_t pair = pairs.begin; pair < pairs.end; ++pair) {
    const PairAt at(heads, pair);
    if (rows < heads.tokens) {
      std::fill_n(arrays.dk, all, 0.0F);
      std::fill_n(arrays.dv, all, 0.0F);
    }
    for (std::int64_t first = 0; first < heads.tokens; first += rows)
      backward_block(p, heads, gemm, arrays, at,
                     {first, std::min(rows, heads.tokens - first), arrays.scores, arrays.d_scores});
    if (rows < heads.tokens) {
      HWY_DYNAMIC_DISPATCH(round_bf16)(dk + at.by_head, arrays.dk, all);
      HWY_DYNAMIC_DISPATCH(round_bf16)(dv + at.by_head, arrays.dv, all);
    }
  }
}

}  // namespace sluice::train::cpu
#endif  // HWY_ONCE
