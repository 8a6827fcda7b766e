// sluice/train/cuda_module/attention_backward_sm90.cu - QkvAttentionBackwardCall by warp groups: 64
// keys over all queries, then 64 queries over all keys; what they multiply lies in shared memory.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/attention_backward_head.cuh"
#include "sluice/train/cuda_module/attention_backward_launch.cuh"
#include "sluice/train/cuda_module/attention_sm90.cuh"
#include "sluice/train/cuda_module/wgmma.cuh"

#include <algorithm>

namespace sluice::train::cuda {
namespace {

constexpr int kDim = 64, kThreads = 128, kBlocks = 2;  // blocks a multiprocessor
constexpr int kTile = RowTiles<kDim>::kTileBytes;
using Shared = WholeHead<kDim>;
// Products read 64 rows of the fourth tensor from its row 192 on, the last of them anything.
constexpr int kSums = kThreads / 32,
              kBytes = std::max(Shared::bytes(kWideTiles, kSums), (3 * kWideTiles + 16) * kTile);
static_assert(kBytes <= kTwoBlocks);

/// What lies in shared memory, as products and loads see it.
struct Wide {
  std::uint64_t first_own, second_own;      // 64 rows: k and v, or q and dy
  std::uint64_t first_other, second_other;  // all rows: q and dy, or k and v
  unsigned lse, delta;                      // addresses
};
/// Sums of a warp's 16 rows: dk and dv, or dq.
template <bool kKeys>
struct Sums {
  float first[1][kDim / 8][4] = {}, second[1][kDim / 8][4] = {};
  float lse[2] = {}, delta[2] = {};  // of owned queries, rows g and g + 8; lse · log2(e)
};

/// Adds kTiles tiles of the other kind, from tile `from` on; `meanwhile` is done while the last
/// products are under way.
template <bool kKeys, int kTiles, class Meanwhile>
__device__ __forceinline__ void add_tiles(Sums<kKeys>& of, const Wide& in, int from,
                                          const TileSight& sight, bool is_there,
                                          Meanwhile meanwhile) {
  constexpr int kCount = 2 * kTiles;
  const int t = static_cast<int>(threadIdx.x) % 4;
  const auto at = static_cast<unsigned>(from * (kTile >> 4));
  float s[kCount][4], d[kCount][4];
  before_products();
#pragma unroll
  for (unsigned step = 0; step < kDim / 16; ++step)
    multiply_wide(s, in.first_own + 2 * step, in.first_other + at + 2 * step,
                  static_cast<int>(step));
#pragma unroll
  for (unsigned step = 0; step < kDim / 16; ++step)
    multiply_wide(d, in.second_own + 2 * step, in.second_other + at + 2 * step,
                  static_cast<int>(step));
  wait_for_products();
  settle(s);
  settle(d);
  unsigned p[kTiles][4], ds[kTiles][4];
  if (is_there) {
#pragma unroll
    for (int n = 0; n < kCount; ++n) {
      float2 lse = {}, delta = {};
      if constexpr (kKeys) {
        const auto column = static_cast<unsigned>(4 * (16 * from + 8 * n + 2 * t));
        lse = shared_pair(in.lse + column);
        delta = shared_pair(in.delta + column);
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float at_lse = !kKeys ? of.lse[e / 2] : e % 2 == 0 ? lse.x : lse.y;
        const float at_delta = !kKeys ? of.delta[e / 2] : e % 2 == 0 ? delta.x : delta.y;
        s[n][e] = exp2_fast(s[n][e] - at_lse);
        // Keys that are not there are zero, but 0 · p must not be 0 · infinity; queries that are
        // not there have lse infinity.
        if (!kKeys && from + kTiles == kWideTiles && n >= kCount - 2 &&
            16 * from + 8 * n + 2 * t + e % 2 >= sight.tokens)
          s[n][e] = 0;
        d[n][e] = s[n][e] * (d[n][e] * sight.branch - at_delta);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < kTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int n = 2 * j + i / 2, e = i % 2 * 2;
      if constexpr (kKeys) p[j][i] = pack(s[n][e], s[n][e + 1]);
      ds[j][i] = pack(d[n][e], d[n][e + 1]);
    }
  if constexpr (kKeys) settle(p);
  settle(ds);
  before_products();
  if constexpr (kKeys) {
#pragma unroll
    for (unsigned j = 0; j < kTiles; ++j)
      multiply_wide_by_rows(of.second[0], p[j], in.second_other + at + 128 * j, 1);
  }
#pragma unroll
  for (unsigned j = 0; j < kTiles; ++j)
    multiply_wide_by_rows(of.first[0], ds[j], in.first_other + at + 128 * j, 1);
  meanwhile();
  wait_for_products();
  if constexpr (kKeys) settle(of.second[0]);
  settle(of.first[0]);
}

/// All blocks of 64 keys or queries of the head; queries come last, and ask for the next head.
template <int kSpan, bool kKeys>
__device__ __forceinline__ void sweep(const BackwardCall& call, const Head<kDim, kSpan>& head,
                                      const Shared& in, float* d_gamma) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::uint64_t k = row_tiles(shared_address(in.k())), v = row_tiles(shared_address(in.v())),
                      q = row_tiles(shared_address(in.q())),
                      dy = row_tiles(shared_address(in.dy()));
  const TileSight sight{call.heads.tokens, false, head.branch};
  QuadRow<kDim> sums = {};
#pragma unroll 1
  for (int block = 0; block < kWideTiles; block += 4) {
    const int tile = block + warp;  // rows beyond the last are another tensor's, and not written
    const bool is_there = tile < kWideTiles;
    const auto own = static_cast<unsigned>(block * (kTile >> 4));
    const Wide wide{.first_own = (kKeys ? k : q) + own,
                    .second_own = (kKeys ? v : dy) + own,
                    .first_other = kKeys ? q : k,
                    .second_other = kKeys ? dy : v,
                    .lse = shared_address(in.lse()),
                    .delta = shared_address(in.delta())};
    Sums<kKeys> of;
#pragma unroll
    for (int half = 0; half < 2 && !kKeys; ++half)
      if (is_there) {
        of.lse[half] = in.lse()[16 * tile + 8 * half + lane / 4];
        of.delta[half] = in.delta()[16 * tile + 8 * half + lane / 4];
      }
    RawRows<kDim, 1> raw;  // long before finish() wants them
    add_tiles<kKeys, 7>(of, wide, 0, sight, is_there, [&] {
      load_raw(raw, head, kKeys ? 1 : 0, 16 * tile, lane);
      if (!kKeys && block == 8) ask_for_next(call, head);
    });
    add_tiles<kKeys, 6>(of, wide, 7, sight, is_there, [] {});
    if (is_there)
      finish<kDim, kSpan, kKeys, 1>(call, head, of.first, of.second, raw, sums, 16 * tile, lane);
  }
  share_gamma<kDim, kSpan>(d_gamma + warp * kDim, sums, lane);
}

/// A block: one warp group, one head.
template <int kSpan>
__global__ void __launch_bounds__(kThreads, kBlocks)
    attention_backward_sm90(const __grid_constant__ BackwardCall call) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char memory[];
  const Head<kDim, kSpan> head(call.heads, call.heads.first_pair + static_cast<int>(blockIdx.x));
  float* const partial_q = call.partial_q + static_cast<std::int64_t>(blockIdx.x) * kDim;
  float* const partial_k = call.partial_k + static_cast<std::int64_t>(blockIdx.x) * kDim;
  if (head.branch == 0) return write_dropped(call, head, partial_q, partial_k);
  const Shared in{memory, kWideTiles, kSums};
  share_all(call, head, in, kWideRows);
  show_to_products();
  __syncthreads();
  sweep<kSpan, true>(call, head, in, in.d_gamma_k());
  sweep<kSpan, false>(call, head, in, in.d_gamma_q());
  __syncthreads();
  write_partial<kDim>(partial_q, in.d_gamma_q(), kSums);
  write_partial<kDim>(partial_k, in.d_gamma_k(), kSums);
#endif
}

}  // namespace

cudaError_t launch_sm90(const QkvAttentionBackwardCall& call, const Launch& on) {
  return launch_by_pairs<kDim>(call, kWideRows, 1, on, [&](const BackwardCall& of, dim3 grid) {
    const auto kernel = call.heads.rope_span == kDim ? attention_backward_sm90<kDim>
                                                     : attention_backward_sm90<kDim / 2>;
    return start(kernel, grid, kThreads / 32, kBytes, of, on);
  });
}

}  // namespace sluice::train::cuda
