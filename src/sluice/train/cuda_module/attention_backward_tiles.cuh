// sluice/train/cuda_module/attention_backward_tiles.cuh - what a warp does in the backward of the
// fused attention: it owns 16 keys and goes over queries, or owns 16 queries and goes over keys.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/attention_head.cuh"

namespace sluice::train::cuda {

/// Of the forward's record and the gradient's. With s the branch scale: y = s·o, so the gradient of
/// o is s·dy, and Σ of it times o is Σ dy·y. dy stays as it is; s goes into sums.
struct BackwardCall {
  FusedHeads heads;
  __nv_bfloat16* d_qkv = nullptr;
  const __nv_bfloat16 *dy = nullptr, *y = nullptr;
  const float* lse = nullptr;
  float *partial_q = nullptr, *partial_k = nullptr;  // [partials, head_dim]
  int partials = 0;
  int rows = 0;                                      // of each tile array in shared memory
  void* kept = nullptr;  // memory of the pairs of this launch, as long as the launch asked for
  __nv_bfloat16* prepared = nullptr;  // by the forward (kernels.h), of all_pairs; or null
  int all_pairs = 0;
};

/// Keys (kKeys) or queries of one warp, kM tiles of 16: first is k or q, second v or dy; sums of dk
/// or dq (in units that finish() gives) and dv.
template <int kDim, bool kKeys, int kM>
struct Owner {
  unsigned first[kM][kDim / 16][4], second[kM][kDim / 16][4];
  float d_first[kM][kDim / 8][4] = {};
  float d_second[kKeys ? kM : 1][kDim / 8][4] = {};
  float lse[kM][2] = {}, delta[kM][2] = {};  // of owned queries, rows g and g + 8; lse · log2(e)
};

/// What add_tile() reads of a call, by value: after a read of shared memory the compiler reads
/// again whatever lies behind a reference.
struct TileSight {
  int tokens;
  bool causal;
  float branch;
};

__device__ inline float2 shared_pair(unsigned address) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
  return v;
}

/// Adds 16 rows of the other kind: tiles of k and v, or of q and dy with their lse and delta, all
/// addresses of shared memory. `owned` and `other`: tokens of the first rows.
template <int kDim, bool kKeys, int kM>
__device__ inline void add_tile(Owner<kDim, kKeys, kM>& of, unsigned first, unsigned second,
                                unsigned lse, unsigned delta, const TileSight sight, int owned,
                                int other, int lane) {
  const int g = lane / 4, t = lane % 4;
  const int by_columns = RowTiles<kDim>::lane_by_columns(lane);
  const int by_rows = RowTiles<kDim>::lane_by_rows(lane);
  float s[kM][2][4] = {}, d[kM][2][4] = {};
  multiply_by_transposed<kDim, kM>(s, of.first, first, by_columns);
  multiply_by_transposed<kDim, kM>(d, of.second, second, by_columns);
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    float2 column_lse = {}, column_delta = {};
    if constexpr (kKeys) {
      column_lse = shared_pair(lse + static_cast<unsigned>(4 * (8 * n + 2 * t)));
      column_delta = shared_pair(delta + static_cast<unsigned>(4 * (8 * n + 2 * t)));
    }
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float at_lse = !kKeys ? of.lse[m][e / 2] : e % 2 == 0 ? column_lse.x : column_lse.y;
        const float at_delta = !kKeys       ? of.delta[m][e / 2]
                               : e % 2 == 0 ? column_delta.x
                                            : column_delta.y;
        s[m][n][e] = exp2_fast(s[m][n][e] - at_lse);
        d[m][n][e] = d[m][n][e] * sight.branch - at_delta;
      }
  }
  // Keys that are not there: their rows are zero, but 0 · p must not be 0 · infinity. As owned rows
  // they are never written, and queries that are not there have lse infinity.
  const bool masked = kKeys ? sight.causal && owned + 16 * kM - 1 > other
                            : other + 16 > sight.tokens || (sight.causal && other + 15 > owned);
  if (masked) {
    const int own = owned + g, far = other + 2 * t;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int n = 0; n < 2; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = 16 * m + e / 2 * 8, column = 8 * n + e % 2;
          const bool counts =
              kKeys ? own + row <= far + column
                    : column < min(sight.tokens - far, sight.causal ? own + row + 1 - far : 16);
          s[m][n][e] = counts ? s[m][n][e] : 0.0F;
        }
  }
  unsigned p[kM][4], ds[kM][4];
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const float(&w)[4] = s[m][n];
      const float(&u)[4] = d[m][n];
      p[m][2 * n] = pack(w[0], w[1]), p[m][2 * n + 1] = pack(w[2], w[3]);
      ds[m][2 * n] = pack(w[0] * u[0], w[1] * u[1]);
      ds[m][2 * n + 1] = pack(w[2] * u[2], w[3] * u[3]);
    }
  if constexpr (kKeys) multiply_by<kDim, kM>(of.d_second, p, second, by_rows);
  multiply_by<kDim, kM>(of.d_first, ds, first, by_rows);
}

/// What finish() reads of memory: rows of k or q as they are, their turns, and gamma.
template <int kDim, int kSpan, int kM>
struct RawRows {
  unsigned words[2 * kM][kDim / 8];
  TurnRow<kDim, kSpan> turns[2 * kM];
  QuadRow<kDim> gamma;
};
template <int kDim, int kSpan, int kM>
__device__ inline void load_raw(RawRows<kDim, kSpan, kM>& to, const Head<kDim, kSpan>& head, int which,
                                int from, int lane) {
#pragma unroll
  for (int i = 0; i < 2 * kM; ++i) {
    const int token = min(from + lane / 4 + 8 * i, head.all.tokens - 1);
    head.load(to.words[i], which, token);
    head.load_turns_of(to.turns[i], token);
  }
  load_floats<kDim, kSpan>(to.gamma, which == 0 ? head.all.gamma_q : head.all.gamma_k, head.t);
}

/// From the sums of an Owner: writes d_qkv of the tokens from `from`, adds to d_gamma.
template <int kDim, int kSpan, bool kKeys, int kM>
__device__ inline void finish(const BackwardCall& call, const Head<kDim, kSpan>& head,
                              const float (&d_first)[kM][kDim / 8][4],
                              const float (&d_second)[kKeys ? kM : 1][kDim / 8][4],
                              const RawRows<kDim, kSpan, kM>& raw, QuadRow<kDim>& d_gamma, int from,
                              int lane) {
  constexpr int kWhich = kKeys ? 1 : 0, kCount = QuadRow<kDim>::kCount;
  __nv_bfloat16* const out = call.d_qkv + head.input();
  // Queries carried scale · log2(e): Σ ds·q is too large by log2(e); Σ ds·k still wants the scale.
  const float factor = kKeys ? kLn2 : call.heads.scale;
  const int token = from + lane / 4;  // and every eighth after it
#pragma unroll
  for (int i = 0; i < 2 * kM; ++i) {
    const bool there = head.there(token + 8 * i);
    __nv_bfloat16* const row = out + (token + 8 * i) * head.row();
    unsigned w[kDim / 8];
    if constexpr (kKeys) {
#pragma unroll
      for (int j = 0; j < kDim / 8; ++j)
        w[j] = pack(d_second[i / 2][j][i % 2 * 2] * head.branch,
                    d_second[i / 2][j][i % 2 * 2 + 1] * head.branch);
      words_from_mma<kDim, kSpan>(w, head.t);
      if (there) store_words<kDim, kSpan>(row + 2 * head.part(), w, head.t);
    }
    QuadRow<kDim> d, x;
    widen(x, raw.words[i]);
    const float counted = there ? factor : 0.0F;
#pragma unroll
    for (int j = 0; j < kCount; ++j)
      d.x[j] = d_first[i / 2][j / 2][i % 2 * 2 + j % 2] * counted;
    norm_and_turn_backward<kDim, kSpan>(d, d_gamma, x, raw.gamma, raw.turns[i], call.heads.epsilon);
    narrow(w, d);
    if (there) store_words<kDim, kSpan>(row + kWhich * head.part(), w, head.t);
  }
}
/// A warp's d_gamma, added over its lanes, to shared memory [kDim].
template <int kDim, int kSpan>
__device__ inline void share_gamma(float* to, const QuadRow<kDim>& d_gamma, int lane) {
#pragma unroll
  for (int i = 0; i < QuadRow<kDim>::kCount; ++i) {
    float sum = d_gamma.x[i];
    for (int other = 4; other < 32; other *= 2)
      sum += __shfl_xor_sync(kAllLanes, sum, other);
    if (lane < 4) to[8 * chunk_of<kDim, kSpan>(i / 8, lane) + i % 8] = sum;
  }
}

/// Σ a·b of a row.
template <int kDim>
__device__ inline float dot_words(const unsigned (&a)[kDim / 8], const unsigned (&b)[kDim / 8]) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i) {
    const float2 x = unpack(a[i]), y = unpack(b[i]);
    sum += x.x * y.x + x.y * y.y;
  }
  return quad_sum(sum);
}
/// lse of a query in units of log 2; infinite where it is not there.
template <int kDim, int kSpan>
__device__ inline float lse_of(const BackwardCall& call, const Head<kDim, kSpan>& head, int token) {
  return head.there(token) ? call.lse[head.lse() + token] * kLog2e : INFINITY;
}
/// dy of a query in w, its lse, and delta = Σ dy·y.
template <int kDim, int kSpan>
__device__ inline void load_gradient(unsigned (&w)[kDim / 8], float& lse, float& delta,
                                     const BackwardCall& call, const Head<kDim, kSpan>& head,
                                     int token) {
  unsigned y[kDim / 8];
  const std::int64_t at = head.output() + token * head.output_row();
  load_words<kDim, kSpan>(w, call.dy + at, head.t, head.there(token));
  load_words<kDim, kSpan>(y, call.y + at, head.t, head.there(token));
  lse = lse_of(call, head, token);
  delta = dot_words<kDim>(w, y);
}

/// Adds what share_gamma() wrote, in its order.
template <int kDim>
__device__ inline void write_partial(float* to, const float* sums, int count) {
  for (int c = static_cast<int>(threadIdx.x); c < kDim; c += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int i = 0; i < count; ++i)
      sum += sums[i * kDim + c];
    to[c] = sum;
  }
}

/// The sample's branch was dropped: d_qkv is zero in all tokens [begin, end) of the parts [part,
/// last].
template <int kDim, int kSpan>
__device__ inline void write_zeros(const BackwardCall& call, const Head<kDim, kSpan>& head,
                                   int begin, int end, int part, int last) {
  const unsigned w[kDim / 8] = {};
  __nv_bfloat16* const out = call.d_qkv + head.input();
  for (int r = begin + static_cast<int>(threadIdx.x) / 4; r < end;
       r += static_cast<int>(blockDim.x) / 4)
    for (int which = part; which <= last; ++which)
      store_words<kDim, kSpan>(out + r * head.row() + which * head.part(), w, head.t);
}

}  // namespace sluice::train::cuda
