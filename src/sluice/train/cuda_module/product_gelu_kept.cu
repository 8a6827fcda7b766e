// sluice/train/cuda_module/product_gelu_kept.cu - a product that ends in GELU or its slope, of a
// weight so small that 128 columns of it stay in shared memory.
// SPDX-License-Identifier: Apache-2.0
//
// A block goes down the rows, 64 at a time. One thread brings them; three warp groups take tiles in
// turn, so that one multiplies while two end theirs.
#include "sluice/train/cuda_module/product_gelu_ending.cuh"
#include "sluice/train/cuda_module/product_gelu_sm90.cuh"

#include <algorithm>

namespace sluice::train::cuda {
namespace {

constexpr int kGroups = 3, kThreads = (kGroups + 1) * kGroupThreads;

// Shared memory: the weight, parts of endings, rows under way, barriers.
constexpr int kWeightBytes = kEndColumns * kKeptDepth * 2;
constexpr int kEndBytes = kGroups * 4 * Ending<false, false, 1>::kBytes;
constexpr int kRowsBytes = kGroupRows * kDepth * 2, kStageBytes = 2 * kRowsBytes;
constexpr int kBarrierBytes = 512;
constexpr int kStages = (kSharedMemory - kBarrierBytes - kWeightBytes - kEndBytes) / kStageBytes;
constexpr int kBytes = kWeightBytes + kEndBytes + kStages * kStageBytes + kBarrierBytes;
// Backward: 64 columns of all depths, then the next 64.
constexpr int kBesideBytes = kKeptDepth * kDepth * 2;

/// Where things lie in shared memory. Barriers: the weight is there; a stage is there, is free; a
/// group has its turn; f of a part is there.
struct Places {
  unsigned weight, parts, stages, weight_there, there, free, turn, brought;
  __device__ explicit Places(unsigned start)
      : weight(start),
        parts(start + kWeightBytes),
        stages(parts + kEndBytes),
        weight_there(stages + kStages * kStageBytes),
        there(weight_there + 8),
        free(there + 8 * kStages),
        turn(free + 8 * kStages),
        brought(turn + 8 * kGroups) {}
  __device__ void make_barriers() const {
    make_barrier(weight_there, 1);
    for (int i = 0; i < kStages; ++i) {
      make_barrier(there + 8 * i, 1);
      make_barrier(free + 8 * i, 4);
    }
    for (int i = 0; i < kGroups; ++i)
      make_barrier(turn + 8 * i, 4);
    for (int i = 0; i < kGroups * 4 * 2; ++i)
      make_barrier(brought + 8 * i, 1);
    show_barriers();
  }
};
static_assert((1 + 2 * kStages + kGroups + kGroups * 4 * 2) * 8 <= kBarrierBytes);

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
  int stage = 0, parity = 1;
  for (int tile = share.first; tile < share.last; ++tile)
    for (int depth = 0; depth < c.dim; depth += 2 * kDepth) {
      const unsigned there = at.there + 8 * static_cast<unsigned>(stage);
      const unsigned to = at.stages + static_cast<unsigned>(stage * kStageBytes);
      wait_for(at.free + 8 * static_cast<unsigned>(stage), parity);
      announce(there, kStageBytes);
      bring_tile(to, c.rows, depth, tile * kGroupRows, there);
      bring_tile(to + kRowsBytes, c.rows, depth + kDepth, tile * kGroupRows, there);
      if (++stage == kStages) {
        stage = 0;
        parity ^= 1;
      }
    }
}

/// The product of a group's tile number `mine`; passes the turn on with its last rows.
template <bool kBackward>
__device__ inline void multiply_tile(float (&sums)[kEndColumns / 8][4], const Ends& c,
                                     const Places& at, int group, int mine, bool leads) {
  const int steps = c.dim / (2 * kDepth);
  if (mine > 0)
    wait_for(at.turn + 8 * static_cast<unsigned>(group),
             (mine / kGroups - (group == 0 ? 1 : 0)) & 1);
  int stage = mine * steps % kStages, parity = (mine * steps / kStages) & 1, before = 0;
  std::uint64_t weight = kBackward ? row_tiles(at.weight, kBesideBytes) : row_tiles(at.weight);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    wait_for(at.there + 8 * static_cast<unsigned>(stage), parity);
    // Not before: a group that is ahead by two phases of a barrier would take it for full.
    if (step == steps - 1 && leads)
      arrive(at.turn + 8 * static_cast<unsigned>((group + 1) % kGroups));
    before_products();
    const std::uint64_t rows = row_tiles(at.stages + static_cast<unsigned>(stage * kStageBytes));
#pragma unroll
    for (int k = 0; k < 8; ++k)
      multiply_widest<kBackward>(
          sums, rows + static_cast<unsigned>(k / 4 * (kRowsBytes >> 4) + 2 * (k % 4)),
          weight + static_cast<unsigned>(
                       kBackward ? 128 * k : k / 4 * (kEndColumns * 2 * kDepth >> 4) + 2 * (k % 4)),
          step | k);
    end_group();
    wait_for_groups<1>();
    if (step > 0 && leads) arrive(at.free + 8 * static_cast<unsigned>(before));
    before = stage;
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
    weight += static_cast<unsigned>(kBackward ? 8 * 128 : 2 * (kEndColumns * 2 * kDepth >> 4));
  }
  wait_for_groups<0>();
  settle(sums);
  if (leads) arrive(at.free + 8 * static_cast<unsigned>(before));
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
      for (int part = 0; part < 2; ++part)
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
  cudaError_t error =
      describe_ends(ends, call, rows, out, kBackward ? kDepth : kEndColumns, !kBackward);
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
