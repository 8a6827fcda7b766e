// sluice/train/cuda_module/attention_backward.cu - QkvAttentionBackwardCall on tensor cores: from
// qkv, y, dy and lse to d_qkv and d_gamma; scores are computed again, once by key, once by query.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/attention_backward_head.cuh"
#include "sluice/train/cuda_module/attention_backward_launch.cuh"
#include "sluice/train/cuda_module/attention_plain.cuh"
#include "sluice/train/cuda_module/attention_sm90.cuh"

namespace sluice::train::cuda {
namespace {

/// kM tiles from `tile` of keys or queries against the whole head. Inlined: behind a call the
/// compiler no longer knows which memory an address is of, and pays for it at every access.
template <int kDim, int kSpan, bool kKeys, int kM>
__device__ __forceinline__ void work_on(const BackwardCall& call, const Head<kDim, kSpan>& head,
                                        const WholeHead<kDim>& in, float* d_gamma, int tile,
                                        int tiles, int lane) {
  constexpr unsigned kTile = RowTiles<kDim>::kTileBytes;
  const int by_rows = RowTiles<kDim>::lane_by_rows(lane);
  const unsigned k = shared_address(in.k()), v = shared_address(in.v()), q = shared_address(in.q()),
                 dy = shared_address(in.dy());
  Owner<kDim, kKeys, kM> of;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
    // The second tile of the last pair may not be there: the first again, and nothing is written.
    const int tile_m = min(tile + m, tiles - 1);
    const unsigned own = static_cast<unsigned>(tile_m) * kTile;
    load_operand<kDim>(of.first[m], (kKeys ? k : q) + own, by_rows);
    load_operand<kDim>(of.second[m], (kKeys ? v : dy) + own, by_rows);
#pragma unroll
    for (int half = 0; half < 2 && !kKeys; ++half) {
      of.lse[m][half] = in.lse()[16 * tile_m + 8 * half + lane / 4];
      of.delta[m][half] = in.delta()[16 * tile_m + 8 * half + lane / 4];
    }
  }
  const unsigned lse = shared_address(in.lse()), delta = shared_address(in.delta());
  const TileSight sight{call.heads.tokens, call.heads.causal, head.branch};
  // Causal: keys count for the queries from their own on, queries count the keys up to their own.
  const int begin = kKeys && sight.causal ? tile : 0;
  const int end = !kKeys && sight.causal ? min(tile + kM, tiles) : tiles;
#pragma unroll 1
  for (int other = begin; other < end; ++other) {
    const unsigned at = static_cast<unsigned>(other) * kTile;
    add_tile(of, (kKeys ? q : k) + at, (kKeys ? dy : v) + at,
             lse + static_cast<unsigned>(64 * other), delta + static_cast<unsigned>(64 * other),
             sight, 16 * tile, 16 * other, lane);
  }
  RawRows<kDim, kSpan, kM> raw;
  load_raw(raw, head, kKeys ? 1 : 0, 16 * tile, lane);
  QuadRow<kDim> sums = {};
  finish<kDim, kSpan, kKeys, kM>(call, head, of.d_first, of.d_second, raw, sums, 16 * tile, lane);
  share_gamma<kDim, kSpan>(d_gamma, sums, lane);
}

/// A block: one head, its warps taking two tiles of keys or queries at a time, the costly first.
/// Which warp takes what depends on time, what is summed where does not.
constexpr int kWholeWarps = 4;
template <int kDim, int kSpan>
__global__ void __launch_bounds__(kWholeWarps * 32, 2)
    attention_backward_whole(const __grid_constant__ BackwardCall call) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int lane = static_cast<int>(threadIdx.x) % 32, tiles = call.rows / 16;
  const Head<kDim, kSpan> head(call.heads, call.heads.first_pair + static_cast<int>(blockIdx.x));
  float* const partial_q = call.partial_q + static_cast<std::int64_t>(blockIdx.x) * kDim;
  float* const partial_k = call.partial_k + static_cast<std::int64_t>(blockIdx.x) * kDim;
  if (head.branch == 0) return write_dropped(call, head, partial_q, partial_k);
  const WholeHead<kDim> in{memory, tiles, WholeHead<kDim>::pairs_of(tiles)};
  if (threadIdx.x == 0) *in.next() = 0;
  share_all(call, head, in, call.rows);
  __syncthreads();
  const int pairs = in.sums, items = 2 * pairs;
  for (;;) {
    int item = lane == 0 ? atomicAdd(in.next(), 1) : 0;
    item = __shfl_sync(kAllLanes, item, 0);
    if (item >= items) break;
    if (item < pairs)
      work_on<kDim, kSpan, true, 2>(call, head, in, in.d_gamma_k() + item * kDim, 2 * item, tiles,
                                    lane);
    else
      work_on<kDim, kSpan, false, 2>(call, head, in, in.d_gamma_q() + (item - pairs) * kDim,
                                     2 * (item - pairs), tiles, lane);
  }
  __syncthreads();
  write_partial<kDim>(partial_q, in.d_gamma_q(), pairs);
  write_partial<kDim>(partial_k, in.d_gamma_k(), pairs);
}

constexpr int kLongWarps = 7;
/// A block: 16 keys (kKeys) or queries for each warp; the other kind comes in pieces of call.rows.
template <int kDim, int kSpan, bool kKeys>
__global__ void __launch_bounds__(kLongWarps * 32, 1)
    attention_backward_long(const BackwardCall call) {
  using Tiles = RowTiles<kDim>;
  extern __shared__ __align__(128) unsigned char memory[];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const Head<kDim, kSpan> head(call.heads, call.heads.first_pair + static_cast<int>(blockIdx.x));
  const int tokens = call.heads.tokens;
  unsigned char *const first = memory, *const second = first + call.rows * Tiles::kRowBytes;
  float* const lse = reinterpret_cast<float*>(second + call.rows * Tiles::kRowBytes);
  float* const delta = lse + call.rows;
  float* const d_gamma = delta + call.rows;  // [kLongWarps, kDim]
  const int begin = static_cast<int>(blockIdx.y) * kLongWarps * 16;
  const int end = min(tokens, begin + kLongWarps * 16);
  if (head.branch == 0) {
    write_zeros(call, head, begin, end, kKeys ? 1 : 0, kKeys ? 2 : 0);
  } else {
    const int owned = begin + warp * 16;
    Owner<kDim, kKeys, 1> of;
    head.template prepared_operands<1>(of.first, kKeys ? 1 : 0, owned);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int token = owned + 8 * half + lane / 4;
      unsigned w[kDim / 8];
      if constexpr (kKeys)
        head.load(w, 2, token);
      else
        load_gradient(w, of.lse[0][half], of.delta[0][half], call, head, token);
      words_for_mma<kDim, kSpan>(w, head.t);
      operand_row<kDim>(of.second[0], w, half);
    }
    const TileSight sight{tokens, call.heads.causal, head.branch};
    // Causal: keys count for the queries from their own on, queries count the keys up to their own.
    const int from_all = kKeys && call.heads.causal ? begin / call.rows * call.rows : 0;
    const int to_all = !kKeys && call.heads.causal ? end : tokens;
    for (int from = from_all; from < to_all; from += call.rows) {
      __syncthreads();
      head.template copy<false>(first, head.first(kKeys ? 0 : 1), head.row(), from, call.rows);
      if constexpr (kKeys)
        head.template copy<false>(second, call.dy + head.output(), head.output_row(), from,
                                  call.rows);
      else
        head.template copy<false>(second, head.first(2), head.row(), from, call.rows);
      wait_for_copies();
      head.prepare_rows(first, kKeys ? 0 : 1, from, call.rows);
      for (int r = head.quad(); kKeys && r < call.rows; r += head.quads()) {
        unsigned w[kDim / 8];
        float row_lse, row_delta;
        load_gradient(w, row_lse, row_delta, call, head, from + r);
        if (head.t == 0) lse[r] = row_lse, delta[r] = row_delta;
      }
      __syncthreads();
      const unsigned first0 = shared_address(first), second0 = shared_address(second);
      for (int r = 0; r < call.rows && from + r < tokens; r += 16) {
        if (call.heads.causal && (kKeys ? from + r + 15 < owned : from + r > owned + 15)) continue;
        const unsigned at = static_cast<unsigned>(r * Tiles::kRowBytes);
        add_tile(of, first0 + at, second0 + at, shared_address(lse + r), shared_address(delta + r),
                 sight, owned, from + r, lane);
      }
    }
    RawRows<kDim, kSpan, 1> raw;
    load_raw(raw, head, kKeys ? 1 : 0, owned, lane);
    QuadRow<kDim> sums = {};
    finish<kDim, kSpan, kKeys, 1>(call, head, of.d_first, of.d_second, raw, sums, owned, lane);
    share_gamma<kDim, kSpan>(d_gamma + warp * kDim, sums, lane);
  }
  __syncthreads();
  write_partial<kDim>((kKeys ? call.partial_k : call.partial_q) +
                          (static_cast<std::int64_t>(blockIdx.x) * gridDim.y + blockIdx.y) * kDim,
                      d_gamma, head.branch == 0 ? 0 : kLongWarps);
}

template <int kDim, int kSpan>
cudaError_t launch_backward(const QkvAttentionBackwardCall& call, const Launch& on) {
  const int tokens = static_cast<int>(call.heads.tokens), tiles = (tokens + 15) / 16;
  if constexpr (kDim <= 64) {  // two tiles of head_dim 128 would not fit into the registers
    const int bytes = WholeHead<kDim>::bytes(tiles, WholeHead<kDim>::pairs_of(tiles));
    if (bytes <= kTwoBlocks)
      return launch_by_pairs<kDim>(call, tiles * 16, 1, on, [&](const BackwardCall& of, dim3 grid) {
        return start(attention_backward_whole<kDim, kSpan>, grid, kWholeWarps, bytes, of, on);
      });
  }
  constexpr int kRows = 128 * 64 / kDim;
  constexpr int kBytes = kRows * (2 * RowTiles<kDim>::kRowBytes + 8) + kLongWarps * kDim * 4;
  return launch_by_pairs<kDim>(
      call, kRows, (tiles + kLongWarps - 1) / kLongWarps, on,
      [&](const BackwardCall& of, dim3 grid) {
        const cudaError_t error =
            start(attention_backward_long<kDim, kSpan, true>, grid, kLongWarps, kBytes, of, on);
        if (error != cudaSuccess) return error;
        return start(attention_backward_long<kDim, kSpan, false>, grid, kLongWarps, kBytes, of, on);
      });
}

}  // namespace

cudaError_t launch(const QkvAttentionBackwardCall& call, const Launch& on) {
  if (!has_fused_form(call) || !in_pieces(call.d_qkv.data) || !in_pieces(call.dy.data) ||
      !in_pieces(call.y.data))
    return launch_plain(call, on);
  if (has_sm90_form(call.heads, on)) return launch_sm90(call, on);
  if (has_long_form(call.heads, on)) return launch_long(call, on);
  return with_sizes(call.heads,
                    [&]<int kDim, int kSpan>() { return launch_backward<kDim, kSpan>(call, on); });
}

}  // namespace sluice::train::cuda
