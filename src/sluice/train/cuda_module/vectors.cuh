// sluice/train/cuda_module/vectors.cuh - 16-byte accesses, sums over lanes, blocks and columns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/launch.h"

#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>

namespace sluice::train::cuda {

using Bfloat = __nv_bfloat16;

__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(Bfloat value) {
  return __bfloat162float(value);
}

/// kCount elements that lie together, at an address that is a multiple of their size (or of 16).
template <class T, int kCount>
struct alignas(sizeof(T) * kCount < 16 ? sizeof(T) * kCount : 16) Pack {
  T values[kCount];
  __device__ float operator[](int i) const { return to_float(values[i]); }
  __device__ void set(const float (&from)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      values[i] = from[i];
  }
};
template <>
struct Pack<Bfloat, 1> {
  Bfloat value;
  __device__ float operator[](int) const { return to_float(value); }
  __device__ void set(const float (&from)[1]) { value = __float2bfloat16_rn(from[0]); }
};
/// Two to a register: the lower half is the element before.
template <int kCount>
requires(kCount % 2 == 0) struct alignas(2 * kCount < 16 ? 2 * kCount : 16) Pack<Bfloat, kCount> {
  unsigned pairs[kCount / 2];
  __device__ float operator[](int i) const {
    return __uint_as_float(i % 2 == 0 ? pairs[i / 2] << 16U : pairs[i / 2] & 0xffff0000U);
  }
  __device__ void set(const float (&from)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(from[i], from[i + 1]);
      pairs[i / 2] = *reinterpret_cast<const unsigned*>(&pair);
    }
  }
};

template <int kCount, class T>
__device__ inline Pack<T, kCount> load(const T* from) {
  return *reinterpret_cast<const Pack<T, kCount>*>(from);
}
/// To device memory. Said as one access of 16 or 8 bytes: left to itself the compiler writes some
/// packs word by word.
template <class T, int kCount>
__device__ inline void store(T* to, const float (&values)[kCount]) {
  Pack<T, kCount> made;
  made.set(values);
  if constexpr (sizeof made % 16 == 0) {
#pragma unroll
    for (std::size_t i = 0; i < sizeof made / 16; ++i)
      __stwb(reinterpret_cast<uint4*>(to) + i, reinterpret_cast<const uint4*>(&made)[i]);
  } else if constexpr (sizeof made == 8) {
    __stwb(reinterpret_cast<uint2*>(to), *reinterpret_cast<const uint2*>(&made));
  } else {
    *reinterpret_cast<Pack<T, kCount>*>(to) = made;
  }
}

/// Elements per access where arrays of both types are walked together: 16 bytes of the wider one.
template <class A, class B = A>
inline constexpr int kTogether = 16 / static_cast<int>(std::max(sizeof(A), sizeof(B)));

/// All lanes of the warp take part; each group of kLanes gets its own sum, the same in every lane.
template <int kLanes = 32, class T>
__device__ inline T lanes_sum(T value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}
/// All threads of the block (whole warps) take part and get the sum, in a fixed order.
template <class T>
__device__ inline T block_sum(T value) {
  __shared__ T of_warp[32];
  const int thread =
      static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  const int threads = static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
  value = lanes_sum(value);
  __syncthreads();  // of_warp may still be read for the sum before this one
  if (thread % 32 == 0) of_warp[thread / 32] = value;
  __syncthreads();
  return lanes_sum(thread % 32 < threads / 32 ? of_warp[thread % 32] : T{});
}

/// sum[column] += Σ partial[i][column] over `count` rows: what many blocks left in the workspace.
/// Block 32 x kSlices, 32 columns each.
template <int kSlices>
__global__ void __launch_bounds__(32 * kSlices)
    add_partials_kernel(float* sum, const float* partial, int count, std::int64_t columns) {
  __shared__ float of_slice[kSlices][32];
  const std::int64_t column = blockIdx.x * std::int64_t{32} + threadIdx.x;
  float total = 0;
  if (column < columns) {
#pragma unroll 8
    for (int i = static_cast<int>(threadIdx.y); i < count; i += kSlices)
      total += partial[i * columns + column];
  }
  of_slice[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  float all = sum[column];
#pragma unroll
  for (int i = 0; i < kSlices; ++i)
    all += of_slice[i][threadIdx.x];
  sum[column] = all;
}
inline cudaError_t add_partials(float* sum, const float* partial, int count, std::int64_t columns,
                                const Launch& on) {
  constexpr int kSlices = 32;
  const auto blocks = static_cast<unsigned>((columns + 31) / 32);
  add_partials_kernel<kSlices>
      <<<blocks, dim3(32, kSlices), 0, on.stream>>>(sum, partial, count, columns);
  return cudaGetLastError();
}

/// Threads that each own kVector columns and walk down the rows: block (width, slots), grid (row
/// blocks, column parts).
struct ColumnWalk {
  dim3 grid, block;
};
inline ColumnWalk column_walk(std::int64_t rows, std::int64_t chunks, int blocks_per_multiprocessor,
                              int rows_at_once, const Launch& on) {
  constexpr std::int64_t kThreads = 256;
  const std::int64_t width = std::min(chunks, kThreads), parts = (chunks + width - 1) / width;
  const std::int64_t slots = kThreads / width;
  const std::int64_t wanted = (rows + slots * rows_at_once - 1) / (slots * rows_at_once);
  const std::int64_t resident = std::max<std::int64_t>(
      1, on.multiprocessors * std::int64_t{blocks_per_multiprocessor} / parts);
  return {dim3(static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, resident)),
               static_cast<unsigned>(parts)),
          dim3(static_cast<unsigned>(width), static_cast<unsigned>(slots))};
}
/// The sums that the slots of a ColumnWalk block hold, added in order into partial[block][dim].
template <int kVector>
__device__ inline void store_column_sums(float* partial, const float (&sums)[kVector],
                                         std::int64_t column, std::int64_t dim) {
  __shared__ float of_slot[256 * kVector];
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    of_slot[i * 256 + thread] = sums[i];
  __syncthreads();
  if (threadIdx.y != 0 || column >= dim) return;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    float total = 0;
    for (unsigned slot = 0; slot < blockDim.y; ++slot)
      total += of_slot[i * 256 + slot * blockDim.x + threadIdx.x];
    partial[blockIdx.x * dim + column + i] = total;
  }
}

/// Whether accesses of 16 bytes may start at all of these.
template <class... Pointers>
bool aligned(const Pointers*... pointers) {
  return (... && (reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0));
}
inline unsigned blocks_for(std::int64_t threads, std::int64_t per_block) {
  return static_cast<unsigned>((threads + per_block - 1) / per_block);
}

template <class T>
struct Type {
  using type = T;
};
/// body(Type<Act>, Type<Res>) of one of the three pairs.
template <class Body>
cudaError_t with_types(Dtype act, Dtype res, Body body) {
  if (act == Dtype::f32 && res == Dtype::f32) return body(Type<float>{}, Type<float>{});
  if (act == Dtype::bf16 && res == Dtype::f32) return body(Type<Bfloat>{}, Type<float>{});
  if (act == Dtype::bf16 && res == Dtype::bf16) return body(Type<Bfloat>{}, Type<Bfloat>{});
  return cudaErrorInvalidValue;
}
template <class Body>
cudaError_t with_type(Dtype type, Body body) {
  if (type == Dtype::f32) return body(Type<float>{});
  if (type == Dtype::bf16) return body(Type<Bfloat>{});
  return cudaErrorInvalidValue;
}

}  // namespace sluice::train::cuda
