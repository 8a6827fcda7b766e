// sluice/train/cuda_module/product_gelu_kept.cu - a product that ends in GELU or its slope, of a
// weight so small that 128 columns of it stay in shared memory.
// SPDX-License-Identifier: Apache-2.0
//
// A block goes down the rows, 64 at a time. One thread brings them; three warp groups take tiles in
// turn, so that one multiplies while two end theirs.
#include "sluice/train/cuda_module/product_gelu_ending.cuh"
#include "sluice/train/cuda_module/product_gelu_sm90.cuh"
#include "sluice/train/cuda_module/product_stages.cuh"

#include <algorithm>

namespace sluice::train::cuda {
namespace {

constexpr int kGroups = 3, kThreads = (kGroups + 1) * kGroupThreads;

// Shared memory: the weight, parts of endings, rows under way, barriers.
constexpr int kWeightBytes = kEndColumns * kKeptDepth * 2;
constexpr int kEndBytes = kGroups * 4 * Ending<false, false, 1>::kBytes;
constexpr int kParts = Ending<false, false, 1>::kParts;
constexpr int kRowsBytes = kGroupRows * kDepth * 2, kStageBytes = 2 * kRowsBytes;
constexpr int kBarrierBytes = 512;
constexpr int kStages = (kSharedMemory - kBarrierBytes - kWeightBytes - kEndBytes) / kStageBytes;
constexpr int kBytes = kWeightBytes + kEndBytes + kStages * kStageBytes + kBarrierBytes;
// Backward: 64 columns of all depths, then the next 64.
constexpr int kBesideBytes = kKeptDepth * kDepth * 2;

/// Where things lie in shared memory. Barriers besides those of the stages: the weight is there; f
/// of a part is there.
using KeptStages = Stages<kStages, kGroups>;
struct Places {
  unsigned weight, parts, rows, weight_there;
  KeptStages stages;
  unsigned brought;
  __device__ explicit Places(unsigned start)
      : weight(start),
        parts(start + kWeightBytes),
        rows(parts + kEndBytes),
        weight_there(rows + kStages * kStageBytes),
        stages(weight_there + 8),
        brought(stages.there + 8 * KeptStages::kBarriers) {}
  __device__ void make_barriers() const {
    make_barrier(weight_there, 1);
    stages.make_barriers(4);
    for (int i = 0; i < kGroups * 4 * kParts; ++i)
      make_barrier(brought + 8 * i, 1);
    show_barriers();
  }
};
static_assert((1 + kGroups * 4 * kParts + KeptStages::kBarriers) * 8 <= kBarrierBytes);

/// Tiles of one block, and its columns.
struct Share {
  int first, last, column;
  __device__ explicit Share(const Ends& c) {
    const int panels = c.hidden / kEndColumns, slots = static_cast<int>(gridDim.x) / panels;
    const int slot = static_cast<int>(blockIdx.x) / panels;
    const std::int64_t tiles = (c.count + kGroupRows - 1) / kGroupRows;
    first = static_cast<int>(tiles * slot / slots);
    last = static_cast<int>(tiles * (slot + 1) / slots);
    column = static_cast<int>(blockIdx.x) % panels * kEndColumns;
  }
  /// Of the group's tile `mine`; -1: there is none.
  [[nodiscard]] __device__ int row_of(int mine) const {
    return first + mine < last ? (first + mine) * kGroupRows : -1;
  }
};

/// One thread brings the weight, then keeps the stages full.
template <bool kBackward>
__device__ inline void bring_all(const Ends& c, const Places& at, const Share& share) {
  announce(at.weight_there, kEndColumns * c.dim * 2);
  for (int depth = 0; depth < c.dim; depth += kDepth) {
    const auto to =
        at.weight + static_cast<unsigned>(depth * (kBackward ? kDepth : kEndColumns) * 2);
    if constexpr (kBackward) {
      bring_tile(to, c.weight, share.column, depth, at.weight_there);
      bring_tile(to + kBesideBytes, c.weight, share.column + kDepth, depth, at.weight_there);
    } else {
      bring_tile(to, c.weight, depth, share.column, at.weight_there);
    }
  }
  auto next = KeptStages::first_to_fill();
  for (int tile = share.first; tile < share.last; ++tile)
    for (int depth = 0; depth < c.dim; depth += 2 * kDepth)
      at.stages.fill(next, [&](int stage, unsigned there) {
        const unsigned to = at.rows + static_cast<unsigned>(stage * kStageBytes);
        announce(there, kStageBytes);
        bring_tile(to, c.rows, depth, tile * kGroupRows, there);
        bring_tile(to + kRowsBytes, c.rows, depth + kDepth, tile * kGroupRows, there);
      });
}

template <bool kBackward>
__device__ inline void multiply_tile(float (&sums)[kEndColumns / 8][4], const Ends& c,
                                     const Places& at, int group, int mine, bool leads) {
  std::uint64_t weight = kBackward ? row_tiles(at.weight, kBesideBytes) : row_tiles(at.weight);
  const auto multiply = [&](int step, int stage) {
    const std::uint64_t rows = row_tiles(at.rows + static_cast<unsigned>(stage * kStageBytes));
#pragma unroll
    for (int k = 0; k < 8; ++k)
      multiply_widest<kBackward>(
          sums, rows + static_cast<unsigned>(k / 4 * (kRowsBytes >> 4) + 2 * (k % 4)),
          weight + static_cast<unsigned>(
                       kBackward ? 128 * k : k / 4 * (kEndColumns * 2 * kDepth >> 4) + 2 * (k % 4)),
          step | k);
    weight += static_cast<unsigned>(kBackward ? 8 * 128 : 2 * (kEndColumns * 2 * kDepth >> 4));
  };
  at.stages.take(group, mine, c.dim / (2 * kDepth), leads, multiply, [&](int stage) {
    if (leads) arrive(at.stages.free + 8 * static_cast<unsigned>(stage));
  });
  settle(sums);
}

template <bool kBackward, bool kScaled>
__global__ void __launch_bounds__(kThreads, 1) product_gelu_kept(const __grid_constant__ Ends c) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char memory[];
  const Places at(shared_address(memory));
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const Share share(c);
  if (threadIdx.x == 0) at.make_barriers();
  __syncthreads();
  if (warp >= kGroups * 4) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (warp == kGroups * 4 && lane == 0) bring_all<kBackward>(c, at, share);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    const int group = warp / 4;
    const Ending<kBackward, kScaled, 1> ending(c, at.parts, at.brought, warp, lane);
    if (kBackward && lane == 0)
      for (int part = 0; part < kParts; ++part)
        ending.bring(share.row_of(group), share.column, part);
    wait_for(at.weight_there, 0);
    for (int mine = group; share.row_of(mine) >= 0; mine += kGroups) {
      float sums[1][kEndColumns / 8][4];
      multiply_tile<kBackward>(sums[0], c, at, group, mine, lane == 0);
      const int row = share.row_of(mine);
      if (kBackward && lane == 0 && mine >= kGroups) ending.bring_last(row, share.column);
      ending.write(sums, row, share.column, mine / kGroups, share.row_of(mine + kGroups),
                   share.column);
    }
    wait_until_written();
  }
#endif
}

template <bool kBackward, class Call>
cudaError_t start(const Call& call, const void* rows, const void* out, const Launch& on) {
  Ends ends;
  cudaError_t error = describe_ends<kBackward>(ends, call, rows, out);
  if (error != cudaSuccess) return error;
  const auto kernel = ends.scale == nullptr ? product_gelu_kept<kBackward, false>
                                            : product_gelu_kept<kBackward, true>;
  error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  const int panels = ends.hidden / kEndColumns;
  const int blocks = panels * std::max(1, on.multiprocessors / panels);
  kernel<<<static_cast<unsigned>(blocks), kThreads, kBytes, on.stream>>>(ends);
  return cudaPeekAtLastError();
}

}  // namespace

cudaError_t launch_kept(const ProductGeluCall& call, const Launch& on) {
  return start<false>(call, call.x.data, call.y.data, on);
}
cudaError_t launch_kept(const ProductGeluBackwardCall& call, const Launch& on) {
  return start<true>(call, call.dy.data, call.df.data, on);
}

}  // namespace sluice::train::cuda
