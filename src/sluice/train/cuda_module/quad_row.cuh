// sluice/train/cuda_module/quad_row.cuh - a row of one head spread over four lanes: norm and turn
// (shapes.h) and their backward, and the change between this layout and that of mma.cuh.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/mma.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace sluice::train::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffU;

/// Element 8m + e of lane t (of its quad) is channel 32m + 8t + e: pieces of 16 bytes as bf16. All
/// functions are called by whole warps.
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
template <int kDim>
__device__ inline void load_words(unsigned (&w)[kDim / 8], const __nv_bfloat16* row, int t,
                                  bool there) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m) {
    const uint4 piece = there ? load_once(row + 32 * m + 8 * t) : make_uint4(0, 0, 0, 0);
    w[4 * m] = piece.x, w[4 * m + 1] = piece.y, w[4 * m + 2] = piece.z, w[4 * m + 3] = piece.w;
  }
}
template <int kDim>
__device__ inline void store_words(__nv_bfloat16* row, const unsigned (&w)[kDim / 8], int t) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m)
    *reinterpret_cast<uint4*>(row + 32 * m + 8 * t) =
        make_uint4(w[4 * m], w[4 * m + 1], w[4 * m + 2], w[4 * m + 3]);
}
/// From and into row `row` of tiles in shared memory.
template <int kDim>
__device__ inline void shared_words(unsigned (&w)[kDim / 8], const unsigned char* tiles, int row,
                                    int t) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m) {
    const uint4 piece =
        *reinterpret_cast<const uint4*>(tiles + RowTiles<kDim>::offset(row, 4 * m + t));
    w[4 * m] = piece.x, w[4 * m + 1] = piece.y, w[4 * m + 2] = piece.z, w[4 * m + 3] = piece.w;
  }
}
template <int kDim>
__device__ inline void share_words(unsigned char* tiles, int row, const unsigned (&w)[kDim / 8],
                                   int t) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m)
    *reinterpret_cast<uint4*>(tiles + RowTiles<kDim>::offset(row, 4 * m + t)) =
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
template <int kDim>
__device__ inline void load_floats(QuadRow<kDim>& to, const float* row, int t) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m)
#pragma unroll
    for (int e = 0; e < 8; e += 4) {
      const float4 piece = __ldg(reinterpret_cast<const float4*>(row + 32 * m + 8 * t + e));
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
template <int kDim>
__device__ inline void load_turns(TurnRow<kDim>& to, const unsigned* row, int t) {
#pragma unroll
  for (int i = 0; i < kDim / 4; i += 4) {
    const uint4 piece = __ldg(reinterpret_cast<const uint4*>(row + 32 * (i / 8) + 8 * t + i % 8));
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
  if constexpr (kHalf >= 32)
    return row.x[i ^ (kHalf / 4)];
  else
    return __shfl_xor_sync(kAllLanes, row.x[i], kHalf / 8);
}
/// Whether element i is in the first half of its span.
template <int kSpan>
__device__ inline bool in_first_half(int i, int t) {
  return ((32 * (i / 8) + 8 * t) & (kSpan / 2)) == 0;
}

template <int kDim, int kSpan>
__device__ inline void turn(QuadRow<kDim>& row, const TurnRow<kDim>& by, int t) {
  QuadRow<kDim> turned;
#pragma unroll
  for (int i = 0; i < QuadRow<kDim>::kCount; ++i) {
    const float2 turn = by.at(i);
    const float other = partner<kDim, kSpan>(row, i) * turn.y;
    turned.x[i] = row.x[i] * turn.x + (in_first_half<kSpan>(i, t) ? -other : other);
  }
  row = turned;
}
/// The transpose.
template <int kDim, int kSpan>
__device__ inline void turn_back(QuadRow<kDim>& row, const TurnRow<kDim>& by, int t) {
  QuadRow<kDim> by_sine;
#pragma unroll
  for (int i = 0; i < QuadRow<kDim>::kCount; ++i)
    by_sine.x[i] = row.x[i] * by.at(i).y;
#pragma unroll
  for (int i = 0; i < QuadRow<kDim>::kCount; ++i) {
    const float other = partner<kDim, kSpan>(by_sine, i);
    row.x[i] = row.x[i] * by.at(i).x + (in_first_half<kSpan>(i, t) ? other : -other);
  }
}

/// gamma · x · rstd · factor, turned.
template <int kDim, int kSpan>
__device__ inline void norm_and_turn(QuadRow<kDim>& row, const float* gamma,
                                     const TurnRow<kDim>& by, float epsilon, float factor, int t) {
  const float rstd = rstd_of(row, epsilon) * factor;
  QuadRow<kDim> weight;
  load_floats(weight, gamma, t);
#pragma unroll
  for (int i = 0; i < QuadRow<kDim>::kCount; ++i)
    row.x[i] *= weight.x[i] * rstd;
  turn<kDim, kSpan>(row, by, t);
}

/// d, the gradient of the normed and turned row, becomes that of x; d_gamma is added to.
template <int kDim, int kSpan>
__device__ inline void norm_and_turn_backward(QuadRow<kDim>& d, QuadRow<kDim>& d_gamma,
                                              const QuadRow<kDim>& x, const float* gamma,
                                              const TurnRow<kDim>& by, float epsilon, int t) {
  turn_back<kDim, kSpan>(d, by, t);
  const float rstd = rstd_of(x, epsilon);
  QuadRow<kDim> weight;
  load_floats(weight, gamma, t);
  float dot = 0;
#pragma unroll
  for (int i = 0; i < QuadRow<kDim>::kCount; ++i) {
    const float along = d.x[i] * x.x[i] * rstd;
    d_gamma.x[i] += along;
    dot += along * weight.x[i];
  }
  const float mean = quad_sum(dot) * (1.0F / kDim) * rstd;
#pragma unroll
  for (int i = 0; i < QuadRow<kDim>::kCount; ++i)
    d.x[i] = rstd * (d.x[i] * weight.x[i] - x.x[i] * mean);
}

/// v[i] of lane t ↔ v[t] of lane i, within quads: piece m of a row in the layout of QuadRow (word
/// i: channels 32m + 8t + 2i) ↔ that of mma.cuh (word j: channels 32m + 8j + 2t).
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
template <int kDim>
__device__ inline void exchange_words(unsigned (&w)[kDim / 8], int t) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m)
    exchange(w[4 * m], w[4 * m + 1], w[4 * m + 2], w[4 * m + 3], t);
}

/// Rows g (half 0) and g + 8 (half 1) of a 16 x kDim sum, times factor.
template <int kDim>
__device__ inline void row_of_sum(QuadRow<kDim>& row, const float (&d)[kDim / 8][4], int half,
                                  float factor, int t) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m) {
    float v[2][4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      for (int e = 0; e < 2; ++e)
        v[e][j] = (half == 0 ? d[4 * m + j][e] : d[4 * m + j][2 + e]) * factor;
#pragma unroll
    for (auto& one : v)
      exchange(one[0], one[1], one[2], one[3], t);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      for (int e = 0; e < 2; ++e)
        row.x[8 * m + 2 * i + e] = v[e][i];
  }
}
/// Two rows of words in the layout of QuadRow as an operand a.
template <int kDim>
__device__ inline void operand_row(unsigned (&a)[kDim / 16][4], unsigned (&w)[kDim / 8], int half,
                                   int t) {
  exchange_words<kDim>(w, t);
#pragma unroll
  for (int block = 0; block < kDim / 8; ++block)
    a[block / 2][(block & 1) * 2 + half] = w[block];
}

}  // namespace sluice::train::cuda
