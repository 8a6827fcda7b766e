// sluice/train/cuda_module/unpack.cu - what a loader sent becomes what the model takes: planes of
// f32. Levels go through a table, so the bits are those of the CPU that made it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/vectors.cuh"

#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

namespace sluice::train::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLevels = 256;
constexpr int kMostChannels = 4;
constexpr unsigned kMostImages = 65535;  // of a grid's second side

/// blockIdx.y: an image. A thread has kVector pixels: it reads them as they lie together and writes
/// a vector of each plane.
template <int kChannels, int kVector>
__global__ void __launch_bounds__(kThreads)
    levels_kernel(float* images, const std::uint8_t* pixels, const float* levels,
                  std::int64_t batch, std::int64_t given, std::int64_t plane, int channels) {
  __shared__ float table[kMostChannels * kLevels];
  const int count = kChannels > 0 ? kChannels : channels;
  for (int i = static_cast<int>(threadIdx.x); i < count * kLevels; i += kThreads)
    table[i] = levels[i];
  __syncthreads();
  for (std::int64_t n = blockIdx.y; n < batch; n += gridDim.y) {
    float* const to = images + n * plane * count;
    const std::uint8_t* const from = pixels + n * plane * count;
    for (std::int64_t at = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) * kVector;
         at < plane; at += gridDim.x * std::int64_t{kThreads} * kVector) {
      if constexpr (kChannels == 3 && kVector == 4) {
        unsigned words[3] = {};
        if (n < given) {
          const auto* const packed = reinterpret_cast<const unsigned*>(from + at * 3);
#pragma unroll
          for (int k = 0; k < 3; ++k)
            words[k] = __ldcs(packed + k);
        }
#pragma unroll
        for (int c = 0; c < 3; ++c) {
          float4 values = make_float4(0, 0, 0, 0);
          if (n < given) {
            const auto level = [&](int pixel) {
              const int byte = pixel * 3 + c;
              return table[c * kLevels + static_cast<int>(words[byte / 4] >> byte % 4 * 8 & 0xffU)];
            };
            values = make_float4(level(0), level(1), level(2), level(3));
          }
          *reinterpret_cast<float4*>(to + c * plane + at) = values;
        }
      } else {
        for (int c = 0; c < count; ++c)
          to[c * plane + at] =
              n < given ? table[c * kLevels + static_cast<int>(from[at * count + c])] : 0.0F;
      }
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    values_kernel(float* images, const T* values, std::int64_t all, std::int64_t given) {
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < all;
       i += gridDim.x * std::int64_t{kThreads})
    images[i] = i < given ? static_cast<float>(values[i]) : 0.0F;
}

bool fits(const void* pointer, std::uintptr_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

}  // namespace

cudaError_t launch(const UnpackCall& c, const Launch& on) {
  const std::int64_t plane = c.height * c.width, one = plane * c.channels, all = one * c.batch;
  if (all == 0) return cudaSuccess;
  if (c.type != PixelType::u8) {
    const auto blocks = static_cast<unsigned>(
        std::min<std::int64_t>((all + kThreads - 1) / kThreads, on.multiprocessors * 16));
    if (c.type == PixelType::f16)
      values_kernel<<<blocks, kThreads, 0, on.stream>>>(
          c.images, static_cast<const __half*>(c.pixels), all, one * c.given);
    else
      values_kernel<<<blocks, kThreads, 0, on.stream>>>(
          c.images, static_cast<const float*>(c.pixels), all, one * c.given);
    return cudaGetLastError();
  }
  if (c.channels > kMostChannels) return cudaErrorInvalidValue;
  const auto* const pixels = static_cast<const std::uint8_t*>(c.pixels);
  const bool wide = c.channels == 3 && plane % 4 == 0 && fits(c.images, 16) && fits(c.pixels, 4);
  const std::int64_t threads = wide ? plane / 4 : plane;
  const std::int64_t images = std::min<std::int64_t>(c.batch, kMostImages);
  const std::int64_t enough = std::max<std::int64_t>(on.multiprocessors * 32 / images, 1);
  const dim3 grid(static_cast<unsigned>(std::min((threads + kThreads - 1) / kThreads, enough)),
                  static_cast<unsigned>(images));
  if (wide)
    levels_kernel<3, 4>
        <<<grid, kThreads, 0, on.stream>>>(c.images, pixels, c.levels, c.batch, c.given, plane, 3);
  else
    levels_kernel<0, 1><<<grid, kThreads, 0, on.stream>>>(
        c.images, pixels, c.levels, c.batch, c.given, plane, static_cast<int>(c.channels));
  return cudaGetLastError();
}

}  // namespace sluice::train::cuda
