// sluice/train/cuda_module/product_gelu_streamed.cu - a product that ends in GELU or its slope, of
// any depth: rows and weight come to shared memory step after step.
// SPDX-License-Identifier: Apache-2.0
//
// Two blocks have the same 128 rows and 128 columns each; either brings half of the rows for both.
// Two warp groups take tiles in turn: one multiplies while the other ends its tile.
#include "sluice/train/cuda_module/product_gelu_ending.cuh"
#include "sluice/train/cuda_module/product_gelu_sm90.cuh"
#include "sluice/train/cuda_module/product_stages.cuh"

#include <algorithm>

namespace sluice::train::cuda {
namespace {

constexpr int kGroups = 2, kThreads = (kGroups + 1) * kGroupThreads, kBlocks = 2;
constexpr int kProducts = 2, kTileRows = kProducts * kGroupRows;

// Shared memory: rows and weight under way, parts of endings, barriers.
constexpr int kHalfBytes = kGroupRows * kDepth * 2, kRowsBytes = kTileRows * kDepth * 2;
constexpr int kStageBytes = kRowsBytes + kEndColumns * kDepth * 2;
constexpr int kEndBytes = kGroups * 4 * Ending<false, false, kProducts>::kBytes;
constexpr int kBarrierBytes = 512;
constexpr int kStages = (kSharedMemory - kBarrierBytes - kEndBytes) / kStageBytes;
constexpr int kBytes = kStages * kStageBytes + kEndBytes + kBarrierBytes;
constexpr int kParts = Ending<false, false, kProducts>::kParts;

/// Where things lie in shared memory. Barriers besides those of the stages, which both blocks free:
/// f of a part is there.
using StreamedStages = Stages<kStages, kGroups>;
struct Places {
  unsigned tiles, parts;
  StreamedStages stages;
  unsigned brought;
  __device__ explicit Places(unsigned start)
      : tiles(start),
        parts(start + kStages * kStageBytes),
        stages(parts + kEndBytes),
        brought(stages.there + 8 * StreamedStages::kBarriers) {}
  __device__ void make_barriers() const {
    stages.make_barriers(4 * kBlocks);
    for (int i = 0; i < kGroups * 4 * kParts; ++i)
      make_barrier(brought + 8 * i, 1);
    show_barriers();
  }
};
static_assert((kGroups * 4 * kParts + StreamedStages::kBarriers) * 8 <= kBarrierBytes);

/// Tiles of one block: pairs of columns first, so that blocks at work share rows and weight.
struct Share {
  int pairs, first, stride, tiles;
  unsigned rank;
  __device__ explicit Share(const Ends& c)
      : pairs(c.hidden / (kBlocks * kEndColumns)),
        first(static_cast<int>(blockIdx.x) / kBlocks),
        stride(static_cast<int>(gridDim.x) / kBlocks),
        tiles((c.count + kTileRows - 1) / kTileRows * pairs),
        rank(rank_in_cluster()) {}
  [[nodiscard]] __device__ int tile(int mine) const { return first + mine * stride; }
  /// -1: there is none.
  [[nodiscard]] __device__ int row_of(int mine) const {
    return tile(mine) < tiles ? tile(mine) / pairs * kTileRows : -1;
  }
  [[nodiscard]] __device__ int column_of(int mine) const {
    return (tile(mine) % pairs * kBlocks + static_cast<int>(rank)) * kEndColumns;
  }
};

/// One thread keeps the stages full.
template <bool kBackward>
__device__ inline void bring_all(const Ends& c, const Places& at, const Share& share) {
  auto next = StreamedStages::first_to_fill();
  for (int mine = 0; share.row_of(mine) >= 0; ++mine) {
    const int row = share.row_of(mine) + static_cast<int>(share.rank) * kGroupRows;
    const int column = share.column_of(mine);
    for (int depth = 0; depth < c.dim; depth += kDepth)
      at.stages.fill(next, [&](int stage, unsigned there) {
        const unsigned to = at.tiles + static_cast<unsigned>(stage * kStageBytes);
        const unsigned weight = to + kRowsBytes;
        announce(there, kStageBytes);
        bring_tile_to_both(to + share.rank * kHalfBytes, c.rows, depth, row, there);
        if constexpr (kBackward) {
          bring_tile(weight, c.weight, column, depth, there);
          bring_tile(weight + kHalfBytes, c.weight, column + kDepth, depth, there);
        } else {
          bring_tile(weight, c.weight, depth, column, there);
        }
      });
  }
}

template <bool kBackward>
__device__ inline void multiply_tile(float (&sums)[kProducts][kEndColumns / 8][4], const Ends& c,
                                     const Places& at, int group, int mine, int lane) {
  const auto multiply = [&](int step, int stage) {
    const unsigned start = at.tiles + static_cast<unsigned>(stage * kStageBytes);
    const std::uint64_t rows = row_tiles(start);
    const std::uint64_t weight =
        kBackward ? row_tiles(start + kRowsBytes, kHalfBytes) : row_tiles(start + kRowsBytes);
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k)
#pragma unroll
      for (int p = 0; p < kProducts; ++p)
        multiply_widest<kBackward>(
            sums[p], rows + static_cast<unsigned>(p * (kHalfBytes >> 4) + 2 * k),
            weight + static_cast<unsigned>(kBackward ? 128 * k : 2 * k), step | k);
  };
  at.stages.take(group, mine, c.dim / kDepth, lane == 0, multiply, [&](int stage) {
    if (lane < kBlocks)
      arrive_at(at.stages.free + 8 * static_cast<unsigned>(stage), static_cast<unsigned>(lane));
  });
#pragma unroll
  for (int p = 0; p < kProducts; ++p)
    settle(sums[p]);
}

template <bool kBackward, bool kScaled>
__global__ void __launch_bounds__(kThreads, 1)
    product_gelu_streamed(const __grid_constant__ Ends c) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char memory[];
  const Places at(shared_address(memory));
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const Share share(c);
  if (threadIdx.x == 0) at.make_barriers();
  meet_cluster();
  if (warp >= kGroups * 4) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (warp == kGroups * 4 && lane == 0) bring_all<kBackward>(c, at, share);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    const int group = warp / 4;
    const Ending<kBackward, kScaled, kProducts> ending(c, at.parts, at.brought, warp, lane);
    if (kBackward && lane == 0)
      for (int part = 0; part < kParts; ++part)
        ending.bring(share.row_of(group), share.column_of(group), part);
    for (int mine = group; share.row_of(mine) >= 0; mine += kGroups) {
      float sums[kProducts][kEndColumns / 8][4];
      multiply_tile<kBackward>(sums, c, at, group, mine, lane);
      const int row = share.row_of(mine), column = share.column_of(mine);
      if (kBackward && lane == 0 && mine >= kGroups) ending.bring_last(row, column);
      ending.write(sums, row, column, mine / kGroups, share.row_of(mine + kGroups),
                   share.column_of(mine + kGroups));
    }
    wait_until_written();
  }
  meet_cluster();  // what a block has is written to by the other
#endif
}

template <bool kBackward, class Call>
cudaError_t start(const Call& call, const void* rows, const void* out, const Launch& on) {
  Ends ends;
  cudaError_t error = describe_ends<kBackward>(ends, call, rows, out);
  if (error != cudaSuccess) return error;
  const auto kernel = ends.scale == nullptr ? product_gelu_streamed<kBackward, false>
                                            : product_gelu_streamed<kBackward, true>;
  error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  const std::int64_t tiles =
      (call.rows + kTileRows - 1) / kTileRows * (call.hidden / (kBlocks * kEndColumns));
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {kBlocks, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(
      kBlocks * std::min<std::int64_t>(tiles, std::max(1, on.multiprocessors / kBlocks)));
  config.blockDim = kThreads;
  config.dynamicSmemBytes = kBytes;
  config.stream = on.stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, ends);
}

}  // namespace

cudaError_t launch_streamed(const ProductGeluCall& call, const Launch& on) {
  return start<false>(call, call.x.data, call.y.data, on);
}
cudaError_t launch_streamed(const ProductGeluBackwardCall& call, const Launch& on) {
  return start<true>(call, call.dy.data, call.df.data, on);
}

}  // namespace sluice::train::cuda
