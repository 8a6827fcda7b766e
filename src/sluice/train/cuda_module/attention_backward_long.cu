// sluice/train/cuda_module/attention_backward_long.cu - QkvAttentionBackwardCall of many tokens by
// warp groups: q and k, normed and turned, are what the forward left or are prepared once more;
// then 64 keys go over the queries that see them, and 64 queries over the keys that they see.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/attention_backward_launch.cuh"
#include "sluice/train/cuda_module/attention_long.cuh"
#include "sluice/train/cuda_module/attention_sm90.cuh"

namespace sluice::train::cuda {
namespace {

constexpr int kDim = kLongDim;

/// What the pieces read, pair after pair, rows a multiple of kPieceRows: lse and delta of the first
/// kernel, q and k of it or of the forward.
struct Kept {
  __nv_bfloat16 *q, *k;
  float *lse, *delta;  // of the queries; lse · log2(e), infinite where there is none
  /// Bytes of a row in the workspace; `heads`: with q and k.
  static std::int64_t bytes(bool heads) { return 2 * 4 + (heads ? 2 * 2 * kDim : 0); }
  __device__ Kept(const BackwardCall& call, int pairs, int pair) {
    const std::int64_t rows = std::int64_t{pieces_of(call.heads.tokens)} * kPieceRows,
                       own = pair * rows, all = pairs * rows;
    lse = static_cast<float*>(call.kept) + own;
    delta = lse + all;
    if (call.prepared != nullptr) {
      q = call.prepared + call.heads.first_pair * rows * kDim + own * kDim;
      k = q + call.all_pairs * rows * kDim;
    } else {
      q = reinterpret_cast<__nv_bfloat16*>(static_cast<float*>(call.kept) + 2 * all) + own * kDim;
      k = q + all * kDim;
    }
  }
};

/// Blocks (rows / kKeptRows, pairs / kKeptPairs up). kHeads: q and k too.
template <int kSpan, bool kHeads>
__global__ void __launch_bounds__(kPieceThreads)
    prepare_backward(const __grid_constant__ BackwardCall call, int pairs) {
  const int first = static_cast<int>(blockIdx.y) * kKeptPairs;
  const Head<kDim, kSpan> any(call.heads, call.heads.first_pair + first);
  const int token = static_cast<int>(blockIdx.x) * kKeptRows + any.quad();
  const TokenTurns<kSpan> turns(any, token);
#pragma unroll 2
  for (int pair = first; pair < min(first + kKeptPairs, pairs); ++pair) {
    const Head<kDim, kSpan> head(call.heads, call.heads.first_pair + pair);
    const Kept to(call, pairs, pair);
    unsigned w[kDim / 8];
    float lse, delta;
    load_gradient(w, lse, delta, call, head, token);
    if constexpr (kHeads) keep_both(to.q + token * kDim, to.k + token * kDim, head, token, turns);
    if (head.t == 0) to.lse[token] = lse, to.delta[token] = delta;
  }
}

/// Shared memory of a block.
struct Pieces {
  static constexpr int kStages = 2;
  static constexpr int kBytes =
      (2 + 2 * kStages) * kPieceBytes + kStages * 2 * kPieceRows * 4 + 4 * kDim * 4;
  unsigned char* memory;
  __device__ unsigned own(int which) const { return shared_address(memory + which * kPieceBytes); }
  __device__ unsigned other(int stage, int which) const {
    return shared_address(memory + (2 + 2 * stage + which) * kPieceBytes);
  }
  __device__ float* lse(int stage) const {  // then delta
    return reinterpret_cast<float*>(memory + (2 + 2 * kStages) * kPieceBytes) +
           stage * 2 * kPieceRows;
  }
  __device__ float* d_gamma() const { return lse(kStages); }
};

/// Sums of a warp's 16 rows: dk and dv, or dq; lse and delta of owned queries, rows g and g + 8.
struct LongSums {
  float first[1][kDim / 8][4] = {}, second[1][kDim / 8][4] = {};
  float lse[2] = {}, delta[2] = {};
};

/// Adds a piece of the other kind. `far`: token of its first row, less that of the warp's.
/// `keys_left`: tokens from the first key on, of the warp's or of the piece.
template <bool kKeys>
__device__ __forceinline__ void add_piece(LongSums& of, std::uint64_t first_own,
                                          std::uint64_t second_own, std::uint64_t first,
                                          std::uint64_t second, unsigned lse_at, float branch,
                                          bool causal_edge, int far, int keys_left) {
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  float s[8][4], d[8][4];
  before_products();
#pragma unroll
  for (unsigned step = 0; step < kDim / 16; ++step)
    multiply_wide(s, first_own + 2 * step, first + 2 * step, static_cast<int>(step));
  end_group();
#pragma unroll
  for (unsigned step = 0; step < kDim / 16; ++step)
    multiply_wide(d, second_own + 2 * step, second + 2 * step, static_cast<int>(step));
  end_group();
  wait_for_groups<1>();
  settle(s);
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    float2 lse = {};
    if constexpr (kKeys) lse = shared_pair(lse_at + static_cast<unsigned>(4 * (8 * n + 2 * t)));
#pragma unroll
    for (int e = 0; e < 4; ++e)
      s[n][e] = exp2_fast(s[n][e] - (!kKeys ? of.lse[e / 2] : e % 2 == 0 ? lse.x : lse.y));
  }
  if (causal_edge) {
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = g + e / 2 * 8, column = far + 8 * n + 2 * t + e % 2;
        if (kKeys ? row > column : column > row) s[n][e] = 0;
      }
  }
  // Keys that are not there: their rows are zero, but 0 · p must not be 0 · infinity.
  if (keys_left < (kKeys ? 16 : kPieceRows)) {
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if ((kKeys ? g + e / 2 * 8 : 8 * n + 2 * t + e % 2) >= keys_left) s[n][e] = 0;
  }
  unsigned p[4][4], ds[4][4];
  if constexpr (kKeys) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        p[j][i] = pack(s[2 * j + i / 2][i % 2 * 2], s[2 * j + i / 2][i % 2 * 2 + 1]);
    settle(p);
    before_products();
#pragma unroll
    for (unsigned j = 0; j < 4; ++j)
      multiply_wide_by_rows(of.second[0], p[j], second + 128 * j, 1);
    end_group();
    wait_for_groups<1>();
  } else {
    wait_for_groups<0>();
  }
  settle(d);
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    float2 delta = {};
    if constexpr (kKeys)
      delta = shared_pair(lse_at + static_cast<unsigned>(4 * (kPieceRows + 8 * n + 2 * t)));
#pragma unroll
    for (int e = 0; e < 4; ++e)
      d[n][e] = s[n][e] * (d[n][e] * branch - (!kKeys       ? of.delta[e / 2]
                                               : e % 2 == 0 ? delta.x
                                                            : delta.y));
  }
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      ds[j][i] = pack(d[2 * j + i / 2][i % 2 * 2], d[2 * j + i / 2][i % 2 * 2 + 1]);
  settle(ds);
  before_products();
#pragma unroll
  for (unsigned j = 0; j < 4; ++j)
    multiply_wide_by_rows(of.first[0], ds[j], first + 128 * j, 1);
  end_group();
  wait_for_groups<0>();
  if constexpr (kKeys) {
    settle(p);
    settle(of.second[0]);
  }
  settle(ds);
  settle(of.first[0]);
}

/// A block: one warp group, 64 keys (kKeys) or queries; the longest work comes first.
template <int kSpan, bool kKeys>
__global__ void __launch_bounds__(kPieceThreads, 3)
    attention_backward_pieces(const __grid_constant__ BackwardCall call) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char memory[];
  const Pieces in{memory};
  const int pair = static_cast<int>(blockIdx.x), lane = static_cast<int>(threadIdx.x) % 32,
            warp = static_cast<int>(threadIdx.x) / 32, pieces = static_cast<int>(gridDim.y);
  const int piece =
      kKeys ? static_cast<int>(blockIdx.y) : pieces - 1 - static_cast<int>(blockIdx.y);
  const Head<kDim, kSpan> head(call.heads, call.heads.first_pair + pair);
  const Kept kept(call, static_cast<int>(gridDim.x), pair);
  const int tokens = call.heads.tokens, begin = piece * kPieceRows;
  float* const partial =
      (kKeys ? call.partial_k : call.partial_q) + (std::int64_t{pair} * pieces + piece) * kDim;
  if (head.branch == 0) {
    write_zeros(call, head, begin, min(tokens, begin + kPieceRows), kKeys ? 1 : 0, kKeys ? 2 : 0);
    return write_partial<kDim>(partial, nullptr, 0);
  }
  const __nv_bfloat16 *const v = head.first(2), *const dy = call.dy + head.output();
  const auto bring_first = [&](unsigned to, int from, bool keys) {
    bring_piece(to, (keys ? kept.k : kept.q) + std::int64_t{from} * kDim, kDim, kPieceRows);
  };
  const auto bring_second = [&](unsigned to, int from, bool keys) {
    const std::int64_t stride = keys ? head.row() : head.output_row();
    bring_piece(to, (keys ? v : dy) + from * stride, stride, tokens - from);
  };
  const auto bring = [&](int stage, int other) {
    const int from = other * kPieceRows;
    bring_first(in.other(stage, 0), from, !kKeys);
    bring_second(in.other(stage, 1), from, !kKeys);
    if (kKeys && threadIdx.x < 2 * kPieceRows / 4) {  // lse, then delta
      const auto i = 4 * static_cast<int>(threadIdx.x);
      copy_later(shared_address(in.lse(stage) + i),
                 i < kPieceRows ? kept.lse + from + i : kept.delta + from + i - kPieceRows, true);
    }
  };
  const int first = kKeys && call.heads.causal ? piece : 0;
  const int end = !kKeys && call.heads.causal ? piece + 1 : pieces;
  bring_first(in.own(0), begin, kKeys);
  bring_second(in.own(1), begin, kKeys);
  bring(first % 2, first);
  const int owned = begin + 16 * warp;
  LongSums of;
#pragma unroll
  for (int half = 0; half < 2 && !kKeys; ++half) {
    of.lse[half] = kept.lse[owned + 8 * half + lane / 4];
    of.delta[half] = kept.delta[owned + 8 * half + lane / 4];
  }
  const std::uint64_t own_first = row_tiles(in.own(0)), own_second = row_tiles(in.own(1));
#pragma unroll 1
  for (int other = first; other < end; ++other) {
    const int stage = other % 2;
    wait_for_copies();
    show_to_products();
    __syncthreads();
    if (other + 1 < end) bring(1 - stage, other + 1);
    const int from = other * kPieceRows;
    add_piece<kKeys>(of, own_first, own_second, row_tiles(in.other(stage, 0)),
                     row_tiles(in.other(stage, 1)), shared_address(in.lse(stage)), head.branch,
                     call.heads.causal && other == piece, from - owned,
                     tokens - (kKeys ? owned : from));
  }
  RawRows<kDim, kSpan, 1> raw;
  load_raw(raw, head, kKeys ? 1 : 0, owned, lane);
  QuadRow<kDim> sums = {};
  finish<kDim, kSpan, kKeys, 1>(call, head, of.first, of.second, raw, sums, owned, lane);
  share_gamma<kDim, kSpan>(in.d_gamma() + warp * kDim, sums, lane);
  __syncthreads();
  write_partial<kDim>(partial, in.d_gamma(), kPieceThreads / 32);
#endif
}

template <int kSpan>
cudaError_t start_long(const BackwardCall& of, dim3 grid, const Launch& on) {
  const dim3 blocks(grid.y * (kPieceRows / kKeptRows), (grid.x + kKeptPairs - 1) / kKeptPairs);
  const auto prepare =
      of.prepared == nullptr ? prepare_backward<kSpan, true> : prepare_backward<kSpan, false>;
  prepare<<<blocks, kPieceThreads, 0, on.stream>>>(of, static_cast<int>(grid.x));
  cudaError_t error = cudaPeekAtLastError();
  constexpr int kWarps = kPieceThreads / 32;
  if (error == cudaSuccess)
    error = start(attention_backward_pieces<kSpan, true>, grid, kWarps, Pieces::kBytes, of, on);
  if (error == cudaSuccess)
    error = start(attention_backward_pieces<kSpan, false>, grid, kWarps, Pieces::kBytes, of, on);
  return error;
}

}  // namespace

cudaError_t launch_long(const QkvAttentionBackwardCall& call, const Launch& on) {
  const int pieces = pieces_of(static_cast<int>(call.heads.tokens));
  return launch_by_pairs<kDim>(
      call, kPieceRows, pieces, on,
      [&](BackwardCall of, dim3 grid) {
        of.prepared = static_cast<__nv_bfloat16*>(call.prepared);
        of.all_pairs = static_cast<int>(call.heads.batch * call.heads.heads);
        return call.heads.rope_span == kDim ? start_long<kDim>(of, grid, on)
                                            : start_long<kDim / 2>(of, grid, on);
      },
      pieces * kPieceRows * Kept::bytes(call.prepared == nullptr));
}

}  // namespace sluice::train::cuda
