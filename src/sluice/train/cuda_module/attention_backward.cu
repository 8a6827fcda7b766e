// sluice/train/cuda_module/attention_backward.cu - QkvAttentionBackwardCall on tensor cores: from
// qkv, y, dy and lse to d_qkv and d_gamma; scores are computed again, once by key, once by query.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/attention_backward_tiles.cuh"
#include "sluice/train/cuda_module/attention_plain.cuh"
#include "sluice/train/cuda_module/column_sums.cuh"

#include <algorithm>

namespace sluice::train::cuda {
namespace {

constexpr int kWarps = 7;  // 13 tiles of keys and 13 of queries: four rounds at most
constexpr int kThreads = kWarps * 32;
constexpr int kTwoBlocks = 113 * 1024;  // bytes of shared memory of each of two blocks

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// A block: a whole head. q, k, v and dy lie in shared memory, prepared; a warp takes tiles of
/// keys, then tiles of queries.
template <int kDim, int kSpan>
__global__ void __launch_bounds__(kThreads, kDim <= 64 ? 2 : 1)
    attention_backward_whole(const BackwardCall call) {
  using Tiles = RowTiles<kDim>;
  extern __shared__ __align__(128) unsigned char memory[];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const Head<kDim, kSpan> head(call.heads, call.heads.first_pair + static_cast<int>(blockIdx.x));
  const int tokens = call.heads.tokens, bytes = call.rows * Tiles::kRowBytes;
  unsigned char *const q = memory, *const k = q + bytes, *const v = k + bytes,
                       *const dy = v + bytes;
  float* const lse = reinterpret_cast<float*>(dy + bytes);
  float* const delta = lse + call.rows;
  float* const d_gamma_q = delta + call.rows;  // [kWarps, kDim], and k's
  float* const d_gamma_k = d_gamma_q + kWarps * kDim;
  for (int i = static_cast<int>(threadIdx.x); i < 2 * kWarps * kDim; i += kThreads)
    d_gamma_q[i] = 0;

  if (head.branch == 0) {
    write_zeros(call, head, 0, tokens, 0, 2);
  } else {
    for (int r = static_cast<int>(threadIdx.x) / 4; r < call.rows; r += kThreads / 4) {
      unsigned w[kDim / 8], other[kDim / 8];
      QuadRow<kDim> cosine, sine;
      head.load_tables(cosine, sine, r);
      head.load(w, 0, r);
      head.load(other, 1, r);
      head.prepare(w, 0, cosine, sine, head.there(r));
      share_words<kDim>(q, r, w, head.t);
      head.prepare(other, 1, cosine, sine, head.there(r));
      share_words<kDim>(k, r, other, head.t);
      float row_lse, row_delta;
      head.load(other, 2, r);
      load_gradient(w, row_lse, row_delta, call, head, r);
      share_words<kDim>(v, r, other, head.t);
      share_words<kDim>(dy, r, w, head.t);
      if (head.t == 0) lse[r] = row_lse, delta[r] = row_delta;
    }
    __syncthreads();

    const int by_rows = Tiles::lane_by_rows(lane), tiles = call.rows / 16;
    const unsigned q0 = shared_address(q), k0 = shared_address(k), v0 = shared_address(v),
                   dy0 = shared_address(dy);
    for (int item = warp; item < 2 * tiles; item += kWarps)
      if (item < tiles) {
        const unsigned own = static_cast<unsigned>(item * Tiles::kTileBytes);
        Owner<kDim, true> of;
        load_operand<kDim>(of.first, k0 + own, by_rows);
        load_operand<kDim>(of.second, v0 + own, by_rows);
        for (int tile = call.heads.causal ? item : 0; tile < tiles; ++tile) {
          const unsigned at = static_cast<unsigned>(tile * Tiles::kTileBytes);
          add_tile(of, q0 + at, dy0 + at, lse + 16 * tile, delta + 16 * tile, call.heads,
                   head.branch, 16 * item, 16 * tile, lane);
        }
        finish(call, head, of, d_gamma_k + warp * kDim, 16 * item, lane);
      } else {
        const int owned = item - tiles;
        const unsigned own = static_cast<unsigned>(owned * Tiles::kTileBytes);
        Owner<kDim, false> of;
        load_operand<kDim>(of.first, q0 + own, by_rows);
        load_operand<kDim>(of.second, dy0 + own, by_rows);
        for (int half = 0; half < 2; ++half) {
          of.lse[half] = lse[16 * owned + 8 * half + lane / 4];
          of.delta[half] = delta[16 * owned + 8 * half + lane / 4];
        }
        for (int tile = 0; tile < (call.heads.causal ? owned + 1 : tiles); ++tile) {
          const unsigned at = static_cast<unsigned>(tile * Tiles::kTileBytes);
          add_tile(of, k0 + at, v0 + at, nullptr, nullptr, call.heads, head.branch, 16 * owned,
                   16 * tile, lane);
        }
        finish(call, head, of, d_gamma_q + warp * kDim, 16 * owned, lane);
      }
  }
  __syncthreads();
  write_partial<kDim>(call.partial_q + static_cast<std::int64_t>(blockIdx.x) * kDim, d_gamma_q,
                      kWarps);
  write_partial<kDim>(call.partial_k + static_cast<std::int64_t>(blockIdx.x) * kDim, d_gamma_k,
                      kWarps);
}

/// A block: 16 keys (kKeys) or queries for each warp; the other kind comes in pieces of call.rows.
template <int kDim, int kSpan, bool kKeys>
__global__ void __launch_bounds__(kThreads, 1) attention_backward_long(const BackwardCall call) {
  using Tiles = RowTiles<kDim>;
  extern __shared__ __align__(128) unsigned char memory[];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const Head<kDim, kSpan> head(call.heads, call.heads.first_pair + static_cast<int>(blockIdx.x));
  const int tokens = call.heads.tokens;
  unsigned char *const first = memory, *const second = first + call.rows * Tiles::kRowBytes;
  float* const lse = reinterpret_cast<float*>(second + call.rows * Tiles::kRowBytes);
  float* const delta = lse + call.rows;
  float* const d_gamma = delta + call.rows;  // [kWarps, kDim]
  for (int i = static_cast<int>(threadIdx.x); i < kWarps * kDim; i += kThreads)
    d_gamma[i] = 0;
  __syncthreads();

  const int begin = static_cast<int>(blockIdx.y) * kWarps * 16;
  const int end = min(tokens, begin + kWarps * 16);
  if (head.branch == 0) {
    write_zeros(call, head, begin, end, kKeys ? 1 : 0, kKeys ? 2 : 0);
  } else {
    const int owned = begin + warp * 16;
    Owner<kDim, kKeys> of;
    head.prepared_operand(of.first, kKeys ? 1 : 0, owned);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int token = owned + 8 * half + lane / 4;
      unsigned w[kDim / 8];
      if constexpr (kKeys)
        head.load(w, 2, token);
      else
        load_gradient(w, of.lse[half], of.delta[half], call, head, token);
      operand_row<kDim>(of.second, w, half, head.t);
    }
    // Causal: keys count for the queries from their own on, queries count the keys up to their own.
    const int from_all = kKeys && call.heads.causal ? begin / call.rows * call.rows : 0;
    const int to_all = !kKeys && call.heads.causal ? end : tokens;
    for (int from = from_all; from < to_all; from += call.rows) {
      __syncthreads();
      head.share(first, second, kKeys ? 0 : 1, from, call.rows, [&](auto& w, int token, int r) {
        if constexpr (kKeys) {
          float row_lse, row_delta;
          load_gradient(w, row_lse, row_delta, call, head, token);
          if (head.t == 0) lse[r] = row_lse, delta[r] = row_delta;
        } else {
          head.load(w, 2, token);
        }
      });
      __syncthreads();
      const unsigned first0 = shared_address(first), second0 = shared_address(second);
      for (int r = 0; r < call.rows && from + r < tokens; r += 16) {
        if (call.heads.causal && (kKeys ? from + r + 15 < owned : from + r > owned + 15)) continue;
        const unsigned at = static_cast<unsigned>(r * Tiles::kRowBytes);
        add_tile(of, first0 + at, second0 + at, lse + r, delta + r, call.heads, head.branch, owned,
                 from + r, lane);
      }
    }
    finish(call, head, of, d_gamma + warp * kDim, owned, lane);
  }
  __syncthreads();
  write_partial<kDim>((kKeys ? call.partial_k : call.partial_q) +
                          (static_cast<std::int64_t>(blockIdx.x) * gridDim.y + blockIdx.y) * kDim,
                      d_gamma, kWarps);
}

template <class Kernel>
cudaError_t start(Kernel kernel, dim3 grid, int bytes, const BackwardCall& call, const Launch& on) {
  if (const cudaError_t error =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
      error != cudaSuccess)
    return error;
  kernel<<<grid, kThreads, static_cast<std::size_t>(bytes), on.stream>>>(call);
  return cudaPeekAtLastError();
}

template <int kDim, int kSpan>
cudaError_t launch_backward(const QkvAttentionBackwardCall& call, const Launch& on) {
  const int tokens = static_cast<int>(call.heads.tokens), tiles = (tokens + 15) / 16;
  const auto bytes = [](std::int64_t rows, int arrays, int sums) {
    return arrays * rows * RowTiles<kDim>::kRowBytes + 2 * rows * 4 + sums * kWarps * kDim * 4;
  };
  const bool whole = bytes(tiles * 16, 4, 2) <= kTwoBlocks;
  BackwardCall of{.heads = fused_heads(call),
                  .d_qkv = static_cast<__nv_bfloat16*>(call.d_qkv.data),
                  .dy = static_cast<const __nv_bfloat16*>(call.dy.data),
                  .y = static_cast<const __nv_bfloat16*>(call.y.data),
                  .lse = call.lse,
                  .rows = whole ? tiles * 16 : 128 * 64 / kDim};
  // Partial sums of as many pairs as the workspace holds at a time.
  const std::int64_t blocks = whole ? 1 : (tiles + kWarps - 1) / kWarps;
  const std::int64_t pairs = call.heads.batch * call.heads.heads;
  const std::int64_t pair_bytes = blocks * kDim * 2 * 4;
  const std::int64_t most =
      std::min(pairs, static_cast<std::int64_t>(on.workspace_bytes) / pair_bytes);
  if (most == 0) return pairs == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
  of.partial_q = static_cast<float*>(on.workspace);
  of.partial_k = of.partial_q + most * blocks * kDim;
  for (std::int64_t pair = 0; pair < pairs; pair += most) {
    const std::int64_t count = std::min(most, pairs - pair);
    const dim3 grid(static_cast<unsigned>(count), static_cast<unsigned>(blocks));
    of.heads.first_pair = static_cast<int>(pair);
    cudaError_t error = cudaSuccess;
    if (whole) {
      error = start(attention_backward_whole<kDim, kSpan>, grid,
                    static_cast<int>(bytes(of.rows, 4, 2)), of, on);
    } else {
      const int each = static_cast<int>(bytes(of.rows, 2, 1));
      error = start(attention_backward_long<kDim, kSpan, true>, grid, each, of, on);
      if (error == cudaSuccess)
        error = start(attention_backward_long<kDim, kSpan, false>, grid, each, of, on);
    }
    if (error == cudaSuccess)
      error = launch_column_sums({.to = {call.d_gamma_q, call.d_gamma_k},
                                  .from = {of.partial_q, of.partial_k},
                                  .rows = static_cast<int>(count * blocks),
                                  .columns = kDim},
                                 on);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t launch(const QkvAttentionBackwardCall& call, const Launch& on) {
  if (!has_fused_form(call) || !in_pieces(call.d_qkv.data) || !in_pieces(call.dy.data) ||
      !in_pieces(call.y.data))
    return launch_plain(call, on);
  return with_sizes(call.heads,
                    [&]<int kDim, int kSpan>() { return launch_backward<kDim, kSpan>(call, on); });
}

}  // namespace sluice::train::cuda
