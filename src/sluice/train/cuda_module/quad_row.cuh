// sluice/train/cuda_module/quad_row.cuh - a row of one head spread over four lanes: norm and turn
// (shapes.h) and their backward, and the change between this layout and that of mma.cuh.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/mma.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

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
/// What others wait for in the second-level cache stays there: no one of this kernel reads it.
template <int kDim, int kSpan>
__device__ inline void store_words(__nv_bfloat16* row, const unsigned (&w)[kDim / 8], int t) {
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m)
    __stcs(reinterpret_cast<uint4*>(row + 8 * chunk_of<kDim, kSpan>(m, t)),
           make_uint4(w[4 * m], w[4 * m + 1], w[4 * m + 2], w[4 * m + 3]));
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
/// Into tiles, so that what mma.cuh has of a row, as an operand or as sums, is in this layout: word
/// 4m + j of lane t is the word t of chunk 4m + j. Both factors of a product over channels are
/// stored so, and nothing is exchanged between lanes before it or after it.
template <int kDim>
__device__ inline void share_words(unsigned char* tiles, int row, const unsigned (&w)[kDim / 8],
                                   int t) {
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i)
    *reinterpret_cast<unsigned*>(tiles + RowTiles<kDim>::offset(row, i) + 4 * t) = w[i];
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

__device__ inline __half2 as_halves(unsigned word) {
  return *reinterpret_cast<const __half2*>(&word);
}
__device__ inline unsigned as_word(__half2 both) {
  return *reinterpret_cast<const unsigned*>(&both);
}

/// Whether channels 2i and 2i + 1 have one angle: those of a ViT-5, whose spans are half a head.
__host__ __device__ constexpr bool neighbours_turn_alike(std::int64_t dim, std::int64_t span) {
  return span < dim;
}
/// The row of a token in the tables of turns, in the layout of words: cosines and sines as halves,
/// 2⁻¹² of them off. Sines of the first half of a span are negative, so the map is
/// x · cosine + partner · sine for all.
template <int kDim, int kSpan>
struct TurnRow {
  static constexpr bool kAlike = neighbours_turn_alike(kDim, kSpan);
  static constexpr int kRowWords = kAlike ? kDim / 2 : kDim;  // in memory
  // A cosine and a sine for two channels, or pairs of cosines and then pairs of sines.
  unsigned words[(kAlike ? 1 : 2) * kDim / 8];
  __device__ __half2 cosine(int i) const {
    return kAlike ? __low2half2(as_halves(words[i])) : as_halves(words[i]);
  }
  __device__ __half2 sine(int i) const {
    return kAlike ? __high2half2(as_halves(words[i])) : as_halves(words[kDim / 8 + i]);
  }
};
/// In memory a row is kDim / 8 chunks of eight channels: four words, or four of cosines and four of
/// sines.
template <int kDim, int kSpan>
__device__ inline void load_turns(TurnRow<kDim, kSpan>& to, const unsigned* row, int t) {
  constexpr int kPieces = TurnRow<kDim, kSpan>::kAlike ? 1 : 2;
#pragma unroll
  for (int m = 0; m < kDim / 32; ++m)
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      const uint4 piece = load_now(reinterpret_cast<const uint4*>(row) +
                                   kPieces * chunk_of<kDim, kSpan>(m, t) + p);
      unsigned* const at = to.words + p * kDim / 8 + 4 * m;
      at[0] = piece.x, at[1] = piece.y, at[2] = piece.z, at[3] = piece.w;
    }
}

/// 1 / sqrt(mean(x²) + epsilon).
template <int kDim>
__device__ inline float rstd_of(const QuadRow<kDim>& row, float epsilon) {
  float sum = 0, more = 0;
#pragma unroll
  for (int i = 0; i < QuadRow<kDim>::kCount; i += 2) {
    sum += row.x[i] * row.x[i];
    more += row.x[i + 1] * row.x[i + 1];
  }
  return rsqrtf(quad_sum(sum + more) * (1.0F / kDim) + epsilon);
}

/// What the lane has of a word, or of an element at twice its index, whose channels the map pairs
/// with those of index i; kSpan a power of two, from 16.
template <int kDim, int kSpan>
__host__ __device__ constexpr int partner(int i) {
  return kDim == 32 ? i : i ^ (kSpan == 32 ? 4 : kSpan / 16);
}
template <int kDim, int kSpan, class T>
__device__ inline T from_partner(T value) {
  return kDim == 32 ? __shfl_xor_sync(kAllLanes, value, kSpan / 16) : value;
}

/// A lane's part of gamma as pairs of halves, in the layout of words.
template <int kDim>
struct GammaRow {
  unsigned x[kDim / 8];
};
template <int kDim, int kSpan>
__device__ inline void load_gamma(GammaRow<kDim>& to, const float* gamma, int t) {
  QuadRow<kDim> wide;
  load_floats<kDim, kSpan>(wide, gamma, t);
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i)
    to.x[i] = as_word(__floats2half2_rn(wide.x[2 * i], wide.x[2 * i + 1]));
}

/// Words become gamma · x · rstd · factor, turned. A normed value is at most sqrt(kDim), so it is
/// turned as a half, 2⁻¹¹ of it off, before it is rounded to bf16.
template <int kDim, int kSpan>
__device__ inline void norm_and_turn(unsigned (&w)[kDim / 8], const GammaRow<kDim>& gamma,
                                     const TurnRow<kDim, kSpan>& by, float epsilon, float factor) {
  QuadRow<kDim> x;
  widen(x, w);
  const float rstd = rstd_of(x, epsilon) * factor;
  __half2 normed[kDim / 8];
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i)
    normed[i] =
        __hmul2(__floats2half2_rn(x.x[2 * i] * rstd, x.x[2 * i + 1] * rstd), as_halves(gamma.x[i]));
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i) {
    const __half2 other =
        as_halves(from_partner<kDim, kSpan>(as_word(normed[partner<kDim, kSpan>(i)])));
    const float2 both = __half22float2(
        __hfma2(normed[i], by.cosine(i), __hmul2(other, by.sine(i))));
    w[i] = pack(both.x, both.y);
  }
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
/// Words of a row to the layout of mma.cuh, where word j of lane t is the pair of channels 8j + 2t,
/// and back: for rows that were not stored by share_words().
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
/// Words of a row, as share_words() stores them, as half an operand a.
template <int kDim>
__device__ inline void operand_row(unsigned (&a)[kDim / 16][4], const unsigned (&w)[kDim / 8],
                                   int half) {
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i)
    a[i / 2][(i & 1) * 2 + half] = w[i];
}

/// d, the gradient of the normed and turned row, becomes that of x; d_gamma is added to.
template <int kDim, int kSpan>
__device__ inline void norm_and_turn_backward(QuadRow<kDim>& d, QuadRow<kDim>& d_gamma,
                                              const QuadRow<kDim>& x, const QuadRow<kDim>& gamma,
                                              const TurnRow<kDim, kSpan>& by, float epsilon) {
  constexpr int kCount = QuadRow<kDim>::kCount;
  QuadRow<kDim> straight;  // the transpose of the turn: d · cosine + what the partner gave away
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const float2 cosine = __half22float2(by.cosine(i / 2));
    const int other = 2 * partner<kDim, kSpan>(i / 2);
    const float2 sine = __half22float2(by.sine(other / 2));
    straight.x[i] =
        d.x[i] * cosine.x + from_partner<kDim, kSpan>(d.x[other] * sine.x);
    straight.x[i + 1] =
        d.x[i + 1] * cosine.y + from_partner<kDim, kSpan>(d.x[other + 1] * sine.y);
  }
  const float rstd = rstd_of(x, epsilon);
  float dot = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    d.x[i] = straight.x[i] * gamma.x[i];
    dot += d.x[i] * x.x[i];
  }
  const float mean = quad_sum(dot) * (1.0F / kDim) * rstd * rstd;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    d_gamma.x[i] += straight.x[i] * (x.x[i] * rstd);
    d.x[i] = rstd * (d.x[i] - x.x[i] * mean);
  }
}

}  // namespace sluice::train::cuda
