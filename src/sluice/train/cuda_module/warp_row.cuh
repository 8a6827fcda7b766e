// sluice/train/cuda_module/warp_row.cuh - a row of one head held by a warp: norm and turn
// (shapes.h) and their backward, for f32 and bf16, any head_dim up to 256 and any span.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace sluice::train::cuda {

inline constexpr int kPerLane = 8;  // channels lane, lane + 32, ...
inline constexpr int kMostHeadDim = 32 * kPerLane;

__device__ inline float widened(float value) {
  return value;
}
__device__ inline float widened(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
template <class T>
__device__ T narrowed(float value) {
  if constexpr (sizeof(T) == 4)
    return value;
  else
    return __float2bfloat16_rn(value);
}

__device__ inline float warp_sum(float value) {
  for (int other = 16; other > 0; other /= 2)
    value += __shfl_xor_sync(0xffffffffU, value, other);
  return value;
}
__device__ inline float warp_max(float value) {
  for (int other = 16; other > 0; other /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, other));
  return value;
}

/// Zeros beyond dim.
template <class T>
__device__ void load_row(float (&x)[kPerLane], const T* row, int dim, int lane) {
#pragma unroll
  for (int c = 0; c < kPerLane; ++c)
    x[c] = lane + 32 * c < dim ? widened(row[lane + 32 * c]) : 0.0F;
}
template <class T>
__device__ void store_row(T* row, const float (&x)[kPerLane], int dim, int lane) {
#pragma unroll
  for (int c = 0; c < kPerLane; ++c)
    if (lane + 32 * c < dim) row[lane + 32 * c] = narrowed<T>(x[c]);
}

__device__ inline float rstd_of_row(const float (&x)[kPerLane], int dim, float epsilon) {
  float sum = 0;
#pragma unroll
  for (float value : x)
    sum += value * value;
  return 1.0F / sqrtf(warp_sum(sum) / static_cast<float>(dim) + epsilon);
}

/// The map of one token.
struct Turn {
  const float *cosine = nullptr, *sine = nullptr;  // of this token
  int dim = 0, span = 0;
  /// + 1 or - 1 times the channel paired with `channel`.
  __device__ int partner(int channel) const {
    return channel % span < span / 2 ? channel + span / 2 : channel - span / 2;
  }
  __device__ float sign(int channel) const { return channel % span < span / 2 ? -1.0F : 1.0F; }
};

/// x becomes gamma · x · rstd, turned. `row`: dim floats in shared memory, of this warp.
__device__ inline void norm_and_turn_row(float (&x)[kPerLane], float rstd, const float* gamma,
                                         const Turn& by, float* row, int lane) {
  __syncwarp();
#pragma unroll
  for (int c = 0; c < kPerLane; ++c)
    if (const int channel = lane + 32 * c; channel < by.dim)
      row[channel] = x[c] = gamma[channel] * x[c] * rstd;
  __syncwarp();
#pragma unroll
  for (int c = 0; c < kPerLane; ++c)
    if (const int channel = lane + 32 * c; channel < by.dim)
      x[c] = x[c] * by.cosine[channel] +
             by.sign(channel) * row[by.partner(channel)] * by.sine[channel];
  __syncwarp();
}

/// d, the gradient of the normed and turned row, becomes that of x; d_gamma is added to. `row` as
/// above.
__device__ inline void norm_and_turn_row_backward(float (&d)[kPerLane], float (&d_gamma)[kPerLane],
                                                  const float (&x)[kPerLane], float rstd,
                                                  const float* gamma, const Turn& by, float* row,
                                                  int lane) {
  __syncwarp();
#pragma unroll
  for (int c = 0; c < kPerLane; ++c)
    if (const int channel = lane + 32 * c; channel < by.dim)
      row[channel] = d[c] * by.sine[channel] * by.sign(channel);
  __syncwarp();
  float dot = 0;
#pragma unroll
  for (int c = 0; c < kPerLane; ++c)
    if (const int channel = lane + 32 * c; channel < by.dim) {
      d[c] = d[c] * by.cosine[channel] + row[by.partner(channel)];
      d_gamma[c] += d[c] * x[c] * rstd;
      d[c] *= gamma[channel];
      dot += d[c] * x[c] * rstd;
    }
  __syncwarp();
  const float mean = warp_sum(dot) / static_cast<float>(by.dim);
#pragma unroll
  for (int c = 0; c < kPerLane; ++c)
    d[c] = rstd * (d[c] - x[c] * rstd * mean);
}

/// Adds the warps' sums of d_gamma in their order and writes them to `to` [dim]. `row`: as above,
/// of warp 0 to `warps` one after the other, `stride` apart. Called by the whole block.
__device__ inline void write_warp_sums(float* to, const float (&d_gamma)[kPerLane], float* row,
                                       int stride, int warps, int dim) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  __syncthreads();
  store_row(row + warp * stride, d_gamma, dim, lane);
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < dim; c += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int w = 0; w < warps; ++w)
      sum += row[w * stride + c];
    to[c] = sum;
  }
}

}  // namespace sluice::train::cuda
