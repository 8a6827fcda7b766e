// sluice/train/cuda_module/attention_forward.cu - QkvAttentionCall: norm, turn, scores, softmax and
// values in one kernel; nothing of tokens x tokens leaves the registers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/attention_head.cuh"
#include "sluice/train/cuda_module/attention_plain.cuh"

#include <algorithm>

namespace sluice::train::cuda {
namespace {

constexpr int kMostWarps = 7;  // 13 tiles of 201 tokens in two rounds
constexpr int kWide = 4;       // key tiles per step of the softmax

struct ForwardCall {
  FusedHeads heads;
  __nv_bfloat16* y = nullptr;
  float* lse = nullptr;
  int rows = 0;             // of keys and values in shared memory, a multiple of 16
  int tiles_per_block = 0;  // of 16 queries; streaming (rows < tokens): one per warp
};

/// One tile of queries: sums over the keys seen so far. Index of pairs: rows g and g + 8.
template <int kDim>
struct Queries {
  unsigned q[1][kDim / 16][4];
  float o[1][kDim / 8][4] = {};
  float most[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
};

/// Scores of up to 64 keys: `tokens` is where keys end for all, `last` the last key of row g that
/// counts (row g + 8: eight more) when causal.
template <int kDim>
__device__ void scores(float (&s)[2 * kWide][4], const Queries<kDim>& of, unsigned keys, int first,
                       int end, bool causal, int query, int lane) {
  const int by_columns = RowTiles<kDim>::lane_by_columns(lane);
#pragma unroll
  for (int j = 0; j < kWide; ++j) {
    float d[1][2][4] = {};
    if (first + 16 * j < end)
      multiply_by_transposed<kDim, 1>(
          d, of.q, keys + static_cast<unsigned>(j * RowTiles<kDim>::kTileBytes), by_columns);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      s[2 * j + i / 4][i % 4] = d[0][i / 4][i % 4];
  }
  if (first + 16 * kWide <= end && (!causal || first + 16 * kWide <= query - lane / 4 + 1)) return;
#pragma unroll
  for (int n = 0; n < 2 * kWide; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int key = first + 8 * n + 2 * (lane % 4) + e % 2;
      if (key >= end || (causal && key > query + e / 2 * 8)) s[n][e] = -INFINITY;
    }
}

/// Scores become exp2(score - most); what was summed is scaled to the new maximum.
template <int kDim>
__device__ void soften(float (&s)[2 * kWide][4], Queries<kDim>& of) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float most = of.most[half];
#pragma unroll
    for (int n = 0; n < 2 * kWide; ++n)
      most = fmaxf(most, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
    most = quad_max(most);  // finite: every row counts the first key of every step it takes
    const float factor = exp2_fast(of.most[half] - most);
    of.most[half] = most;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < 2 * kWide; ++n)
#pragma unroll
      for (int e = 2 * half; e < 2 * half + 2; ++e) {
        s[n][e] = exp2_fast(s[n][e] - most);
        sum += s[n][e];
      }
    of.sum[half] = of.sum[half] * factor + sum;
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n)
      of.o[0][n][2 * half] *= factor, of.o[0][n][2 * half + 1] *= factor;
  }
}

/// Adds the keys `from` to from + rows - 1, which lie in shared memory.
template <int kDim>
__device__ void add_keys(Queries<kDim>& of, unsigned keys, unsigned values, int from, int rows,
                         int end, bool causal, int query, int lane) {
  const int by_rows = RowTiles<kDim>::lane_by_rows(lane);
  for (int r = 0; r < rows && from + r < end; r += 16 * kWide) {
    const unsigned at = static_cast<unsigned>(r * RowTiles<kDim>::kRowBytes);
    float s[2 * kWide][4];
    scores<kDim>(s, of, keys + at, from + r, end, causal, query, lane);
    soften<kDim>(s, of);
#pragma unroll
    for (int j = 0; j < kWide; ++j)
      if (from + r + 16 * j < end) {
        const unsigned p[1][4] = {{pack(s[2 * j][0], s[2 * j][1]), pack(s[2 * j][2], s[2 * j][3]),
                                   pack(s[2 * j + 1][0], s[2 * j + 1][1]),
                                   pack(s[2 * j + 1][2], s[2 * j + 1][3])}};
        multiply_by<kDim>(
            of.o, p, values + at + static_cast<unsigned>(j * RowTiles<kDim>::kTileBytes), by_rows);
      }
  }
}

template <int kDim, int kSpan>
__device__ void write(const ForwardCall& call, const Head<kDim, kSpan>& head, Queries<kDim>& of,
                      int query) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int token = query + 8 * half;
    const float sum = quad_sum(of.sum[half]), factor = head.branch / sum;
    unsigned w[kDim / 8];
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n)
      w[n] = pack(of.o[0][n][2 * half] * factor, of.o[0][n][2 * half + 1] * factor);
    exchange_words<kDim>(w, head.t);
    if (!head.there(token)) continue;
    store_words<kDim>(call.y + head.output + token * head.output_row, w, head.t);
    if (head.t == 0) call.lse[head.lse + token] = (of.most[half] + log2f(sum)) * kLn2;
  }
}

/// A block: one head, and all its queries (keys and values lie in shared memory whole) or a tile of
/// queries per warp (keys and values come in pieces of call.rows).
template <int kDim, int kSpan>
__global__ void __launch_bounds__(kMostWarps * 32, kDim <= 64 ? 2 : 1)
    attention_forward(const ForwardCall call) {
  extern __shared__ __align__(128) unsigned char memory[];
  unsigned char* const key_rows = memory;
  unsigned char* const value_rows = memory + call.rows * RowTiles<kDim>::kRowBytes;
  const unsigned keys = static_cast<unsigned>(__cvta_generic_to_shared(key_rows));
  const unsigned values = static_cast<unsigned>(__cvta_generic_to_shared(value_rows));
  const Head<kDim, kSpan> head(call.heads, static_cast<int>(blockIdx.x));
  const int tokens = call.heads.tokens;
  const auto share = [&](int from) {
    head.share(key_rows, value_rows, 1, from, call.rows,
               [&](auto& w, int token, int) { head.load(w, 2, token); });
  };

  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const int begin = static_cast<int>(blockIdx.y) * call.tiles_per_block;
  const bool whole = call.rows >= tokens;
  if (whole) {
    share(0);
    __syncthreads();
  }
  // The keys that any query of this block counts.
  const int block_end =
      call.heads.causal ? min(tokens, (begin + call.tiles_per_block) * 16) : tokens;
  for (int tile = begin + warp; tile < begin + call.tiles_per_block; tile += warps) {
    if (whole && tile * 16 >= tokens) break;
    const int query = tile * 16 + lane / 4;
    const int end = call.heads.causal ? min(tokens, tile * 16 + 16) : tokens;
    Queries<kDim> of;
    head.prepared_operand(of.q[0], 0, tile * 16);
    for (int from = 0; from < block_end; from += call.rows) {
      if (!whole) {
        __syncthreads();
        share(from);
        __syncthreads();
      }
      add_keys<kDim>(of, keys, values, from, call.rows, end, call.heads.causal, query, lane);
    }
    write<kDim, kSpan>(call, head, of, query);
  }
}

template <int kDim, int kSpan>
cudaError_t launch_forward(const QkvAttentionCall& call, const Launch& on) {
  const int tokens = static_cast<int>(call.heads.tokens), tiles = (tokens + 15) / 16;
  const bool whole = tiles * 16 * kDim <= 256 * 64;
  ForwardCall of{.heads = fused_heads(call),
                 .y = static_cast<__nv_bfloat16*>(call.y.data),
                 .lse = call.lse,
                 .rows = whole ? tiles * 16 : 128 * 64 / kDim,
                 .tiles_per_block = whole ? tiles : kMostWarps};
  // As few rounds as the most warps give, with as few warps as that takes.
  const int rounds = (tiles + kMostWarps - 1) / kMostWarps;
  const int warps = whole ? (tiles + rounds - 1) / rounds : kMostWarps;
  const int bytes = 2 * of.rows * RowTiles<kDim>::kRowBytes;
  if (const cudaError_t error = cudaFuncSetAttribute(
          attention_forward<kDim, kSpan>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
      error != cudaSuccess)
    return error;
  const dim3 grid(static_cast<unsigned>(call.heads.batch * call.heads.heads),
                  static_cast<unsigned>((tiles + of.tiles_per_block - 1) / of.tiles_per_block));
  attention_forward<kDim, kSpan><<<grid, static_cast<unsigned>(std::max(warps, 4) * 32),
                                   static_cast<std::size_t>(bytes), on.stream>>>(of);
  return cudaPeekAtLastError();
}

}  // namespace

cudaError_t launch(const QkvAttentionCall& call, const Launch& on) {
  if (!has_fused_form(call) || !in_pieces(call.y.data)) return launch_plain(call, on);
  return with_sizes(call.heads,
                    [&]<int kDim, int kSpan>() { return launch_forward<kDim, kSpan>(call, on); });
}

}  // namespace sluice::train::cuda
