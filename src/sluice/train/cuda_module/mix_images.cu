// sluice/train/cuda_module/mix_images.cu - Mixup and CutMix of a batch that lies on the device: two
// partners exchange shares, in place, with the CPU's bits.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/vectors.cuh"

#include <algorithm>
#include <cstdint>

namespace sluice::train::cuda {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kMostPairs = 65535;  // of a grid's second side

__device__ inline float share(float keep, float a, float take, float b) {
  return __fadd_rn(__fmul_rn(keep, a), __fmul_rn(take, b));  // no fused multiply-add: train/mixup
}

/// blockIdx.y: a pair of images. Every element of one image is one of a thread's.
template <int kVector>
__global__ void __launch_bounds__(kThreads)
    mixup_kernel(float* images, std::int64_t batch, std::int64_t one, float keep, float take) {
  using Values = Pack<float, kVector>;
  for (std::int64_t pair = blockIdx.y; pair < batch / 2; pair += gridDim.y) {
    float* const first = images + pair * one;
    float* const last = images + (batch - 1 - pair) * one;
    for (std::int64_t i = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) * kVector; i < one;
         i += gridDim.x * std::int64_t{kThreads} * kVector) {
      const Values a = *reinterpret_cast<const Values*>(first + i);
      const Values b = *reinterpret_cast<const Values*>(last + i);
      Values mixed_a, mixed_b;
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        mixed_a.values[k] = share(keep, a.values[k], take, b.values[k]);
        mixed_b.values[k] = share(keep, b.values[k], take, a.values[k]);
      }
      *reinterpret_cast<Values*>(first + i) = mixed_a;
      *reinterpret_cast<Values*>(last + i) = mixed_b;
    }
  }
}

/// A box of rows of `columns` values, the first at `begin`, rows `row` apart, planes `plane` apart.
struct Box {
  std::int64_t begin = 0, row = 0, plane = 0;
  std::int64_t planes = 0, rows = 0, columns = 0;
};

__global__ void __launch_bounds__(kThreads)
    cutmix_kernel(float* images, std::int64_t batch, std::int64_t one, Box box) {
  const std::int64_t all = box.planes * box.rows * box.columns;
  for (std::int64_t pair = blockIdx.y; pair < batch / 2; pair += gridDim.y) {
    float* const first = images + pair * one + box.begin;
    float* const last = images + (batch - 1 - pair) * one + box.begin;
    for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < all;
         i += gridDim.x * std::int64_t{kThreads}) {
      const std::int64_t line = i / box.columns;
      const std::int64_t at =
          line / box.rows * box.plane + line % box.rows * box.row + i % box.columns;
      const float a = first[at];
      first[at] = last[at];
      last[at] = a;
    }
  }
}

dim3 grid_for(std::int64_t batch, std::int64_t threads, const Launch& on) {
  const std::int64_t pairs = std::min<std::int64_t>(batch / 2, kMostPairs);
  const std::int64_t enough = std::max<std::int64_t>(on.multiprocessors * 32 / pairs, 1);
  const std::int64_t blocks = std::min((threads + kThreads - 1) / kThreads, enough);
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(pairs)};
}

}  // namespace

cudaError_t launch(const MixImagesCall& c, const Launch& on) {
  const std::int64_t one = c.channels * c.height * c.width;
  if (c.batch < 2 || one == 0) return cudaSuccess;
  if (!c.cut) {
    const bool wide = one % 4 == 0 && reinterpret_cast<std::uintptr_t>(c.images) % 16 == 0;
    const dim3 grid = grid_for(c.batch, wide ? one / 4 : one, on);
    if (wide)
      mixup_kernel<4><<<grid, kThreads, 0, on.stream>>>(c.images, c.batch, one, c.keep, c.take);
    else
      mixup_kernel<1><<<grid, kThreads, 0, on.stream>>>(c.images, c.batch, one, c.keep, c.take);
    return cudaGetLastError();
  }
  const std::int64_t pixel = c.channels_last ? c.channels : 1;
  Box box;
  box.row = c.width * pixel;
  box.plane = c.height * c.width;
  box.planes = c.channels_last ? 1 : c.channels;
  box.rows = c.bottom - c.top;
  box.columns = (c.right - c.left) * pixel;
  box.begin = c.top * box.row + c.left * pixel;
  const std::int64_t all = box.planes * box.rows * box.columns;
  if (all == 0) return cudaSuccess;
  cutmix_kernel<<<grid_for(c.batch, all, on), kThreads, 0, on.stream>>>(c.images, c.batch, one,
                                                                        box);
  return cudaGetLastError();
}

}  // namespace sluice::train::cuda
