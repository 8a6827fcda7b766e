// sluice/train/cuda_module/attention_forward_long.cu - QkvAttentionCall of many tokens by warp
// groups: q and k are prepared once, then 64 queries go over the keys that they see, 64 at a time.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/attention_long.cuh"
#include "sluice/train/cuda_module/attention_sm90.cuh"

#include <algorithm>

namespace sluice::train::cuda {
namespace {

constexpr int kDim = kLongDim;

struct LongCall {
  FusedHeads heads;
  __nv_bfloat16* y = nullptr;
  float* lse = nullptr;
  __nv_bfloat16 *q = nullptr, *k = nullptr;  // prepared, [pairs of this launch, pieces · 64, 64]
};

/// Blocks (rows / kKeptRows, pairs / kKeptPairs up).
template <int kSpan>
__global__ void __launch_bounds__(kPieceThreads)
    prepare_forward(const __grid_constant__ LongCall call, int pairs) {
  const int first = static_cast<int>(blockIdx.y) * kKeptPairs;
  const Head<kDim, kSpan> any(call.heads, call.heads.first_pair + first);
  const int token = static_cast<int>(blockIdx.x) * kKeptRows + any.quad();
  const TokenTurns<kSpan> turns(any, token);
  const std::int64_t rows = pieces_of(call.heads.tokens) * kPieceRows;
#pragma unroll 2
  for (int pair = first; pair < min(first + kKeptPairs, pairs); ++pair) {
    const std::int64_t at = (pair * rows + token) * kDim;
    const Head<kDim, kSpan> head(call.heads, call.heads.first_pair + pair);
    keep_both(call.q + at, call.k + at, head, token, turns);
  }
}

/// Queries of a warp, 16 rows: rows g and g + 8 of a lane.
struct LongQueries {
  float o[kDim / 8][4] = {};
  float most[2] = {-INFINITY, -INFINITY}, sum[2] = {};
};

/// Scores become exp2(score - most); `most` follows the maximum only where it grew by more than
/// kSlack (see attention_forward.cu).
constexpr float kSlack = 8;
[[maybe_unused]] __device__ __forceinline__ void soften(float (&s)[8][4], LongQueries& of) {
  float now[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    now[half] = s[0][2 * half];
#pragma unroll
    for (int n = 0; n < 8; ++n)
      now[half] = fmaxf(now[half], fmaxf(s[n][2 * half], s[n][2 * half + 1]));
    now[half] = quad_max(now[half]);
  }
  if (__any_sync(kAllLanes, now[0] > of.most[0] + kSlack || now[1] > of.most[1] + kSlack)) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float larger = fmaxf(of.most[half], now[half]);
      const float factor = exp2_fast(of.most[half] - larger);
      of.most[half] = larger;
      of.sum[half] *= factor;
#pragma unroll
      for (int n = 0; n < kDim / 8; ++n)
        of.o[n][2 * half] *= factor, of.o[n][2 * half + 1] *= factor;
    }
  }
#pragma unroll
  for (int n = 0; n < 8; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      s[n][e] = exp2_fast(s[n][e] - of.most[e / 2]);
      of.sum[e / 2] += s[n][e];
    }
}

/// `far`: token of the first key, less that of the warp's first query.
[[maybe_unused]] __device__ __forceinline__ void add_piece(LongQueries& of, std::uint64_t queries,
                                                           std::uint64_t keys, std::uint64_t values,
                                                           bool causal_edge, int far,
                                                           int keys_left) {
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  float s[8][4];
  before_products();
#pragma unroll
  for (unsigned step = 0; step < kDim / 16; ++step)
    multiply_wide(s, queries + 2 * step, keys + 2 * step, static_cast<int>(step));
  wait_for_products();
  settle(s);
  if (causal_edge || keys_left < kPieceRows) {
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int column = 8 * n + 2 * t + e % 2;
        if (column >= keys_left || (causal_edge && far + column > g + e / 2 * 8))
          s[n][e] = -INFINITY;
      }
  }
  soften(s, of);
  unsigned p[4][4];
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      p[j][i] = pack(s[2 * j + i / 2][i % 2 * 2], s[2 * j + i / 2][i % 2 * 2 + 1]);
  settle(p);
  settle(of.o);
  before_products();
#pragma unroll
  for (unsigned j = 0; j < 4; ++j)
    multiply_wide_by_rows(of.o, p[j], values + 128 * j, 1);
  wait_for_products();
  settle(p);
  settle(of.o);
}

/// A block: one warp group, 64 queries of a head; the longest work comes first.
template <int kSpan>
__global__ void __launch_bounds__(kPieceThreads, 4)
    attention_forward_pieces(const __grid_constant__ LongCall call) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char memory[];  // q; k and v, twice
  const int pair = static_cast<int>(blockIdx.x), pieces = static_cast<int>(gridDim.y);
  const int piece = pieces - 1 - static_cast<int>(blockIdx.y);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const Head<kDim, kSpan> head(call.heads, call.heads.first_pair + pair);
  const int tokens = call.heads.tokens, owned = piece * kPieceRows + 16 * warp;
  const std::int64_t kept = std::int64_t{pair} * pieces * kPieceRows * kDim;
  const auto at = [&](int stage, int which) {
    return shared_address(memory + (1 + 2 * stage + which) * kPieceBytes);
  };
  const auto bring = [&](int stage, int other) {
    const std::int64_t from = std::int64_t{other} * kPieceRows;
    bring_piece(at(stage, 0), call.k + kept + from * kDim, kDim, kPieceRows);
    bring_piece(at(stage, 1), head.first(2) + from * head.row(), head.row(),
                tokens - static_cast<int>(from));
  };
  const int end = call.heads.causal ? piece + 1 : pieces;
  bring_piece(shared_address(memory), call.q + kept + piece * kPieceRows * kDim, kDim, kPieceRows);
  bring(0, 0);
  LongQueries of;
#pragma unroll 1
  for (int other = 0; other < end; ++other) {
    const int stage = other % 2;
    wait_for_copies();
    show_to_products();
    __syncthreads();
    if (other + 1 < end) bring(1 - stage, other + 1);
    const int from = other * kPieceRows;
    add_piece(of, row_tiles(shared_address(memory)), row_tiles(at(stage, 0)),
              row_tiles(at(stage, 1)), call.heads.causal && other == piece, from - owned,
              tokens - from);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int token = owned + 8 * half + lane / 4;
    const float sum = quad_sum(of.sum[half]), factor = head.branch / sum;
    unsigned w[kDim / 8];
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n)
      w[n] = pack(of.o[n][2 * half] * factor, of.o[n][2 * half + 1] * factor);
    words_from_mma<kDim, kSpan>(w, head.t);
    if (!head.there(token)) continue;
    store_words<kDim, kSpan>(call.y + head.output() + token * head.output_row(), w, head.t);
    if (head.t == 0) call.lse[head.lse() + token] = (of.most[half] + log2f(sum)) * kLn2;
  }
#endif
}

template <int kSpan>
cudaError_t start(const LongCall& call, int pairs, const Launch& on) {
  constexpr int kBytes = 5 * kPieceBytes;
  const auto kernel = attention_forward_pieces<kSpan>;
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared);
  if (error != cudaSuccess) return error;
  const auto pieces = static_cast<unsigned>(pieces_of(call.heads.tokens));
  const auto count = static_cast<unsigned>(pairs);
  prepare_forward<kSpan>
      <<<dim3(pieces * (kPieceRows / kKeptRows), (count + kKeptPairs - 1) / kKeptPairs),
         kPieceThreads, 0, on.stream>>>(call, pairs);
  kernel<<<dim3(count, pieces), kPieceThreads, kBytes, on.stream>>>(call);
  return cudaPeekAtLastError();
}

}  // namespace

cudaError_t launch_long(const QkvAttentionCall& call, const Launch& on) {
  const std::int64_t pairs = call.heads.batch * call.heads.heads;
  if (pairs == 0) return cudaSuccess;
  if (const cudaError_t error = launch_turns(call, on); error != cudaSuccess) return error;
  const std::size_t turns = turns_bytes(call.heads);
  LongCall of{.heads = fused_heads(call, static_cast<const unsigned*>(on.workspace)),
              .y = static_cast<__nv_bfloat16*>(call.y.data),
              .lse = call.lse,
              .q = static_cast<__nv_bfloat16*>(on.workspace) + turns / 2};
  const std::int64_t pair_values = std::int64_t{pieces_of(of.heads.tokens)} * kPieceRows * kDim;
  std::int64_t most = std::min<std::int64_t>(pairs, 65535);
  if (call.prepared == nullptr)
    most =
        std::min(most, static_cast<std::int64_t>(on.workspace_bytes - turns) / (4 * pair_values));
  if (most == 0) return cudaErrorMemoryAllocation;
  of.k = of.q + most * pair_values;
  for (std::int64_t pair = 0; pair < pairs; pair += most) {
    of.heads.first_pair = static_cast<int>(pair);
    if (call.prepared != nullptr) {
      of.q = static_cast<__nv_bfloat16*>(call.prepared) + pair * pair_values;
      of.k = of.q + pairs * pair_values;
    }
    const int count = static_cast<int>(std::min(most, pairs - pair));
    const cudaError_t error =
        call.heads.rope_span == kDim ? start<kDim>(of, count, on) : start<kDim / 2>(of, count, on);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace sluice::train::cuda
