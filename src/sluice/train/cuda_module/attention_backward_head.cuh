// sluice/train/cuda_module/attention_backward_head.cuh - a whole head of the backward in shared
// memory, and how it gets there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/attention_backward_tiles.cuh"

namespace sluice::train::cuda {

inline constexpr int kTwoBlocks = 113 * 1024;  // bytes of shared memory of each of two blocks

/// A whole head in shared memory: q, k (prepared), v and dy; lse and delta of the queries; d_gamma
/// [sums, kDim] of q and of k, see share_gamma(); the item of work that is next.
template <int kDim>
struct WholeHead {
  unsigned char* memory;
  int tiles, sums;
  __host__ __device__ static constexpr int pairs_of(int tiles) { return (tiles + 1) / 2; }
  static constexpr int bytes(int tiles, int sums) {
    return tiles * 16 * (4 * RowTiles<kDim>::kRowBytes + 8) + 2 * sums * kDim * 4 + 16;
  }
  __device__ unsigned char* rows(int which) const {
    return memory + which * tiles * RowTiles<kDim>::kTileBytes;
  }
  __device__ unsigned char* q() const { return rows(0); }
  __device__ unsigned char* k() const { return rows(1); }
  __device__ unsigned char* v() const { return rows(2); }
  __device__ unsigned char* dy() const { return rows(3); }
  __device__ float* lse() const { return reinterpret_cast<float*>(rows(4)); }
  __device__ float* delta() const { return lse() + tiles * 16; }
  __device__ float* d_gamma_q() const { return delta() + tiles * 16; }
  __device__ float* d_gamma_k() const { return d_gamma_q() + sums * kDim; }
  __device__ int* next() const { return reinterpret_cast<int*>(d_gamma_k() + sums * kDim); }
};

/// y of a token, or of the last where it is not there.
template <int kDim, int kSpan>
__device__ inline const __nv_bfloat16* y_of(const BackwardCall& call, const Head<kDim, kSpan>& head,
                                     int token) {
  return call.y + head.output() + min(token, call.heads.tokens - 1) * head.output_row();
}

/// Asks for what `pair` reads to come near.
template <int kDim, int kSpan>
__device__ inline void ask_for(const BackwardCall& call, int pair) {
  const Head<kDim, kSpan> next(call.heads, pair);
  for (int which = 0; which < 3; ++which)
    next.come_near(next.first(which), next.row());
  next.come_near(call.dy + next.output(), next.output_row());
  next.come_near(call.y + next.output(), next.output_row());
}

/// The sample's branch was dropped: all that a block of a whole head leaves.
template <int kDim, int kSpan>
__device__ inline void write_dropped(const BackwardCall& call, const Head<kDim, kSpan>& head,
                                     float* partial_q, float* partial_k) {
  write_zeros(call, head, 0, call.heads.tokens, 0, 2);
  write_partial<kDim>(partial_q, nullptr, 0);
  write_partial<kDim>(partial_k, nullptr, 0);
}

/// Fills it, lse and delta too; then a barrier is due.
template <int kDim, int kSpan>
__device__ inline void share_all(const BackwardCall& call, const Head<kDim, kSpan>& head,
                                 const WholeHead<kDim>& to, int rows) {
  constexpr int kTogether = 4;  // rows of y that are under way while q and k are prepared
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int r = thread; r < rows; r += threads)
    copy_word_later(shared_address(to.lse() + r), call.lse + head.lse() + (head.there(r) ? r : 0),
                    head.there(r));
  head.template copy<false>(to.q(), head.first(0), head.row(), 0, rows);
  head.template copy<false>(to.k(), head.first(1), head.row(), 0, rows);
  head.copy(to.dy(), call.dy + head.output(), head.output_row(), 0, rows);
  head.copy(to.v(), head.first(2), head.row(), 0, rows);
  GammaRow<kDim> gamma_q, gamma_k;
  head.load_gamma_of(gamma_q, 0);
  head.load_gamma_of(gamma_k, 1);
#pragma unroll 1
  for (int from = head.quad(); from < rows; from += kTogether * head.quads()) {
    unsigned y[kTogether][kDim / 8];  // where there is no token another's: its dy is zero
#pragma unroll
    for (int i = 0; i < kTogether; ++i)
      load_words<kDim, kSpan>(y[i], y_of(call, head, from + i * head.quads()), head.t, true);
    if (from == head.quad()) {
      wait_for_copies();
      for (int r = thread; r < rows; r += threads)
        to.lse()[r] = head.there(r) ? to.lse()[r] * kLog2e : INFINITY;
    }
#pragma unroll 1
    for (int i = 0; i < kTogether; i += 2) {
      const int r = from + i * head.quads(), next = r + head.quads();
      if (r >= rows) break;
      TurnRow<kDim, kSpan> turns, next_turns;
      head.load_turns_of(turns, r);
      head.load_turns_of(next_turns, next);
      head.prepare_row(to.q(), r, 0, gamma_q, turns);
      head.prepare_row(to.k(), r, 1, gamma_k, turns);
      if (next >= rows) break;
      head.prepare_row(to.q(), next, 0, gamma_q, next_turns);
      head.prepare_row(to.k(), next, 1, gamma_k, next_turns);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const int r = from + i * head.quads();
      if (r >= rows) break;
      unsigned dy[kDim / 8];
      shared_words<kDim, kSpan>(dy, to.dy(), r, head.t);
      const float delta = dot_words<kDim>(dy, y[i]);
      if (head.t == 0) to.delta()[r] = delta;
    }
  }
}

}  // namespace sluice::train::cuda
