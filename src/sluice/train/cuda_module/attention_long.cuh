// sluice/train/cuda_module/attention_long.cuh - attention of many tokens by warp groups: rows that
// are normed and turned once, in memory, and pieces of 64 of them that come to shared memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/attention_head.cuh"
#include "sluice/train/cuda_module/wgmma.cuh"

namespace sluice::train::cuda {

inline constexpr int kLongDim = 64, kPieceRows = kPieceOfTokens, kPieceThreads = 128;
inline constexpr int kPieceBytes = kPieceRows * RowTiles<kLongDim>::kRowBytes;

/// Rows of a head in pieces.
__host__ __device__ constexpr int pieces_of(int tokens) {
  return (tokens + kPieceRows - 1) / kPieceRows;
}

/// Writes a prepared row, so that products read it in the order of share_words().
__device__ inline void keep_row(__nv_bfloat16* row, unsigned (&w)[kLongDim / 8], int t) {
#pragma unroll
  for (int m = 0; m < kLongDim / 32; ++m) {
    exchange(w[4 * m], w[4 * m + 1], w[4 * m + 2], w[4 * m + 3], t);
    *reinterpret_cast<uint4*>(row + 8 * (4 * m + t)) =
        make_uint4(w[4 * m], w[4 * m + 1], w[4 * m + 2], w[4 * m + 3]);
  }
}
/// What rows of one token have in common, whatever their head.
template <int kSpan>
struct TokenTurns {
  TurnRow<kLongDim, kSpan> turns;
  GammaRow<kLongDim> gamma[2];
  __device__ TokenTurns(const Head<kLongDim, kSpan>& head, int token) {
    head.load_turns_of(turns, token);
    head.load_gamma_of(gamma[0], 0);
    head.load_gamma_of(gamma[1], 1);
  }
};
/// q and k of a token, normed and turned; zeros where there is no token.
template <int kSpan>
__device__ inline void keep_both(__nv_bfloat16* q, __nv_bfloat16* k,
                                 const Head<kLongDim, kSpan>& head, int token,
                                 const TokenTurns<kSpan>& of) {
  unsigned w[2][kLongDim / 8];
#pragma unroll
  for (int which = 0; which < 2; ++which)
    load_words<kLongDim, kSpan>(w[which],
                                head.first(which) + min(token, head.all.tokens - 1) * head.row(),
                                head.t, head.there(token));
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    head.prepare(w[which], which, of.gamma[which], of.turns);
    keep_row(which == 0 ? q : k, w[which], head.t);
  }
}
inline constexpr int kKeptRows = kPieceThreads / 4;  // tokens of a block that prepares, and
inline constexpr int kKeptPairs = 4;                 // pairs: turns are read once for them

/// Starts to copy a piece: rows `stride` elements apart, `there` of them, zeros after those. All
/// kPieceThreads threads; tiles begin at a multiple of 1024 bytes.
__device__ inline void bring_piece(unsigned tiles, const __nv_bfloat16* from, std::int64_t stride,
                                   int there) {
#pragma unroll
  for (int i = 0; i < kPieceRows * 8 / kPieceThreads; ++i) {
    const int row = static_cast<int>(threadIdx.x) / 8 + i * (kPieceThreads / 8),
              chunk = static_cast<int>(threadIdx.x) % 8;
    const bool is_there = row < there;
    copy_later(tiles + static_cast<unsigned>(RowTiles<kLongDim>::offset(row, chunk)),
               from + (is_there ? row * stride : 0) + 8 * chunk, is_there);
  }
}

}  // namespace sluice::train::cuda
