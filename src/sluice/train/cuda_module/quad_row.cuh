// sluice/train/cuda_module/quad_row.cuh - a row of one head spread over four lanes: norm and turn
// (shapes.h) and their backward, and the change between this layout and that of mma.cuh.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/mma.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace sluice::train::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffU;

/// Piece m of lane t (of its quad), eight channels or 16 bytes of bf16: which eight of the row. The
/// channels that the map pairs (kSpan / 2 apart) are in one lane but for head_dim 32.
template <int kDim, int kSpan>
__host__ __device__ constexpr int chunk_of(int m, int t) {
  return kDim == 64 && kSpan == 32 ? (t & 1) + 4 * (t >> 1) + 2 * m : 4 * m + t;
}
/// Element 8m + e of lane t is channel 8 · chunk_of(m, t) + e. All functions are called by whole
/// warps.
template <int kDim>
struct QuadRow {
  static constexpr int kCount = kDim / 4, kPieces = kDim / 32;
  float x[kCount];
};

__device__ inline float quad_sum(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}
__device__ inline float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}

/// As words: piece m is the four words at 4m. Zeros where the row is not there.
template <int kDim, int kSpan>
__device__ inline void load_words(unsigned (&w)[kDim / 8], const __nv_bfloat16* row, int t,
                                  bool there) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m) {
    const uint4 piece =
        there ? load_once(row + 8 * chunk_of<kDim, kSpan>(m, t)) : make_uint4(0, 0, 0, 0);
    w[4 * m] = piece.x, w[4 * m + 1] = piece.y, w[4 * m + 2] = piece.z, w[4 * m + 3] = piece.w;
  }
}
template <int kDim, int kSpan>
__device__ inline void store_words(__nv_bfloat16* row, const unsigned (&w)[kDim / 8], int t) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m)
    *reinterpret_cast<uint4*>(row + 8 * chunk_of<kDim, kSpan>(m, t)) =
        make_uint4(w[4 * m], w[4 * m + 1], w[4 * m + 2], w[4 * m + 3]);
}
/// From and into row `row` of tiles in shared memory.
template <int kDim, int kSpan>
__device__ inline void shared_words(unsigned (&w)[kDim / 8], const unsigned char* tiles, int row,
                                    int t) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m) {
    const uint4 piece = *reinterpret_cast<const uint4*>(
        tiles + RowTiles<kDim>::offset(row, chunk_of<kDim, kSpan>(m, t)));
    w[4 * m] = piece.x, w[4 * m + 1] = piece.y, w[4 * m + 2] = piece.z, w[4 * m + 3] = piece.w;
  }
}
template <int kDim, int kSpan>
__device__ inline void share_words(unsigned char* tiles, int row, const unsigned (&w)[kDim / 8],
                                   int t) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m)
    *reinterpret_cast<uint4*>(tiles + RowTiles<kDim>::offset(row, chunk_of<kDim, kSpan>(m, t))) =
        make_uint4(w[4 * m], w[4 * m + 1], w[4 * m + 2], w[4 * m + 3]);
}

template <int kDim>
__device__ inline void widen(QuadRow<kDim>& to, const unsigned (&w)[kDim / 8]) {
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i) {
    const float2 both = unpack(w[i]);
    to.x[2 * i] = both.x, to.x[2 * i + 1] = both.y;
  }
}
template <int kDim>
__device__ inline void narrow(unsigned (&w)[kDim / 8], const QuadRow<kDim>& from) {
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i)
    w[i] = pack(from.x[2 * i], from.x[2 * i + 1]);
}
template <int kDim, int kSpan>
__device__ inline void load_floats(QuadRow<kDim>& to, const float* row, int t) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m)
#pragma unroll
    for (int e = 0; e < 8; e += 4) {
      const float4 piece =
          __ldg(reinterpret_cast<const float4*>(row + 8 * chunk_of<kDim, kSpan>(m, t) + e));
      to.x[8 * m + e] = piece.x, to.x[8 * m + e + 1] = piece.y;
      to.x[8 * m + e + 2] = piece.z, to.x[8 * m + e + 3] = piece.w;
    }
}

/// The row of a token in the tables of turns, in the layout of QuadRow: cosine (low) and sine as
/// halves, 2⁻¹² of them off, an eighth of what the turned row is rounded by.
template <int kDim>
struct TurnRow {
  unsigned x[kDim / 4];
  __device__ float2 at(int i) const {
    return __half22float2(*reinterpret_cast<const __half2*>(&x[i]));
  }
};
template <int kDim, int kSpan>
__device__ inline void load_turns(TurnRow<kDim>& to, const unsigned* row, int t) {
#pragma unroll
  for (int i = 0; i < kDim / 4; i += 4) {
    const uint4 piece =
        __ldg(reinterpret_cast<const uint4*>(row + 8 * chunk_of<kDim, kSpan>(i / 8, t) + i % 8));
    to.x[i] = piece.x, to.x[i + 1] = piece.y, to.x[i + 2] = piece.z, to.x[i + 3] = piece.w;
  }
}

/// 1 / sqrt(mean(x²) + epsilon).
template <int kDim>
__device__ inline float rstd_of(const QuadRow<kDim>& row, float epsilon) {
  float sum = 0;
#pragma unroll
  for (float value : row.x)
    sum += value * value;
  return rsqrtf(quad_sum(sum) * (1.0F / kDim) + epsilon);
}

/// The element of the channel that the map pairs with element i's; kSpan a power of two, from 16.
template <int kDim, int kSpan>
__device__ inline float partner(const QuadRow<kDim>& row, int i) {
  constexpr int kHalf = kSpan / 2;
  if constexpr (kDim == 32)
    return __shfl_xor_sync(kAllLanes, row.x[i], kHalf / 8);
  else
    return row.x[i ^ (kSpan == 32 ? 8 : kHalf / 4)];
}
/// Whether element i is in the first half of its span.
template <int kDim, int kSpan>
__device__ inline bool in_first_half(int i, int t) {
  return ((8 * chunk_of<kDim, kSpan>(i / 8, t)) & (kSpan / 2)) == 0;
}

template <int kDim, int kSpan>
__device__ inline void turn(QuadRow<kDim>& row, const TurnRow<kDim>& by, int t) {
  QuadRow<kDim> turned;
#pragma unroll
  for (int i = 0; i < QuadRow<kDim>::kCount; ++i) {
    const float2 turn = by.at(i);
    const float other = partner<kDim, kSpan>(row, i) * turn.y;
    turned.x[i] = row.x[i] * turn.x + (in_first_half<kDim, kSpan>(i, t) ? -other : other);
  }
  row = turned;
}
/// gamma · x · rstd · factor, turned.
template <int kDim, int kSpan>
__device__ inline void norm_and_turn(QuadRow<kDim>& row, const float* gamma,
                                     const TurnRow<kDim>& by, float epsilon, float factor, int t) {
  const float rstd = rstd_of(row, epsilon) * factor;
  QuadRow<kDim> weight;
  load_floats<kDim, kSpan>(weight, gamma, t);
#pragma unroll
  for (int i = 0; i < QuadRow<kDim>::kCount; ++i)
    row.x[i] *= weight.x[i] * rstd;
  turn<kDim, kSpan>(row, by, t);
}

/// v[i] of lane t ↔ v[t] of lane i, within quads.
template <class T>
__device__ inline void exchange(T& v0, T& v1, T& v2, T& v3, int t) {
  const bool odd = (t & 1) != 0, upper = (t & 2) != 0;
  const T got01 = __shfl_xor_sync(kAllLanes, odd ? v0 : v1, 1);
  const T got23 = __shfl_xor_sync(kAllLanes, odd ? v2 : v3, 1);
  v0 = odd ? got01 : v0, v1 = odd ? v1 : got01;
  v2 = odd ? got23 : v2, v3 = odd ? v3 : got23;
  const T got02 = __shfl_xor_sync(kAllLanes, upper ? v0 : v2, 2);
  const T got13 = __shfl_xor_sync(kAllLanes, upper ? v1 : v3, 2);
  v0 = upper ? got02 : v0, v2 = upper ? v2 : got02;
  v1 = upper ? got13 : v1, v3 = upper ? v3 : got13;
}
/// Words of a row from the layout of QuadRow to that of mma.cuh, where word j of lane t is the pair
/// of channels 8j + 2t, and back.
template <int kDim, int kSpan>
__device__ inline void words_for_mma(unsigned (&w)[kDim / 8], int t) {
  unsigned made[kDim / 8];
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m) {
    exchange(w[4 * m], w[4 * m + 1], w[4 * m + 2], w[4 * m + 3], t);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      made[chunk_of<kDim, kSpan>(m, j)] = w[4 * m + j];
  }
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i)
    w[i] = made[i];
}
template <int kDim, int kSpan>
__device__ inline void words_from_mma(unsigned (&w)[kDim / 8], int t) {
  unsigned made[kDim / 8];
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      made[4 * m + j] = w[chunk_of<kDim, kSpan>(m, j)];
    exchange(made[4 * m], made[4 * m + 1], made[4 * m + 2], made[4 * m + 3], t);
  }
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i)
    w[i] = made[i];
}
/// Two rows of words in the layout of QuadRow as an operand a.
template <int kDim, int kSpan>
__device__ inline void operand_row(unsigned (&a)[kDim / 16][4], unsigned (&w)[kDim / 8], int half,
                                   int t) {
  words_for_mma<kDim, kSpan>(w, t);
#pragma unroll
  for (int block = 0; block < kDim / 8; ++block)
    a[block / 2][(block & 1) * 2 + half] = w[block];
}

// Rows as sums of mma.cuh hold them: element 2j + e of lane t is channel 8j + 2t + e. What the map
// pairs is in one lane, kSpan / 16 chunks apart, whatever the sizes.

/// Elements of a float row, and of a token's turns.
template <int kDim>
__device__ inline void load_floats_for_mma(float (&to)[kDim / 4], const float* row, int t) {
#pragma unroll
  for (int j = 0; j < kDim / 8; ++j) {
    const float2 both = __ldg(reinterpret_cast<const float2*>(row + 8 * j + 2 * t));
    to[2 * j] = both.x, to[2 * j + 1] = both.y;
  }
}
template <int kDim>
__device__ inline void load_turns_for_mma(TurnRow<kDim>& to, const unsigned* row, int t) {
#pragma unroll
  for (int j = 0; j < kDim / 8; ++j) {
    const uint2 both = __ldg(reinterpret_cast<const uint2*>(row + 8 * j + 2 * t));
    to.x[2 * j] = both.x, to.x[2 * j + 1] = both.y;
  }
}

/// d, the gradient of the normed and turned row, becomes that of x; d_gamma is added to.
template <int kDim, int kSpan>
__device__ inline void norm_and_turn_backward(float (&d)[kDim / 4], float (&d_gamma)[kDim / 4],
                                              const float (&x)[kDim / 4],
                                              const float (&gamma)[kDim / 4],
                                              const TurnRow<kDim>& by, float epsilon) {
  constexpr int kCount = kDim / 4, kAway = kSpan / 8;  // elements between the two of a pair
#pragma unroll
  for (int i = 0; i < kCount; ++i) {  // the transpose of turn()
    if ((i & kAway) != 0) continue;
    const float2 low = by.at(i), high = by.at(i + kAway);
    const float d_low = d[i], d_high = d[i + kAway];
    d[i] = d_low * low.x + d_high * high.y;
    d[i + kAway] = d_high * high.x - d_low * low.y;
  }
  float squares = 0, dot = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    squares += x[i] * x[i];
    dot += d[i] * x[i] * gamma[i];
  }
  const float rstd = rsqrtf(quad_sum(squares) * (1.0F / kDim) + epsilon);
  const float mean = quad_sum(dot) * (1.0F / kDim) * rstd * rstd;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    d_gamma[i] += d[i] * x[i] * rstd;
    d[i] = rstd * (d[i] * gamma[i] - x[i] * mean);
  }
}

}  // namespace sluice::train::cuda
