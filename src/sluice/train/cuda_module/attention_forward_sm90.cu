// sluice/train/cuda_module/attention_forward_sm90.cu - QkvAttentionCall by warp groups: the scores
// of 64 queries with all keys are one product, so the softmax needs no second look.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/attention_head.cuh"
#include "sluice/train/cuda_module/attention_sm90.cuh"
#include "sluice/train/cuda_module/wgmma.cuh"

namespace sluice::train::cuda {
namespace {

constexpr int kDim = 64, kThreads = 128, kBlocks = 3;  // blocks a multiprocessor
constexpr int kPieces = kWideRows / 8;                 // of eight keys

struct WideCall {
  FusedHeads heads;
  __nv_bfloat16* y = nullptr;
  float* lse = nullptr;
  int pairs = 0, ahead = 0;  // blocks at work at once: the pair that this place has next
};

/// Scores of rows g and g + 8 become exp2(score - most); keys that are not there count as zero.
struct Softened {
  float most[2], sum[2];
};
[[maybe_unused]] __device__ Softened soften(float (&s)[kPieces][4], int tokens, int t) {
#pragma unroll
  for (int n = kPieces - 2; n < kPieces; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (8 * n + 2 * t + e % 2 >= tokens) s[n][e] = -INFINITY;
  Softened of;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float most = fmaxf(s[0][2 * half], s[0][2 * half + 1]);
    float other = fmaxf(s[1][2 * half], s[1][2 * half + 1]);
#pragma unroll
    for (int n = 2; n < kPieces; n += 2) {
      most = fmaxf(most, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
      other = fmaxf(other, fmaxf(s[n + 1][2 * half], s[n + 1][2 * half + 1]));
    }
    of.most[half] = quad_max(fmaxf(most, other));
    float sum = 0, more = 0;
#pragma unroll
    for (int n = 0; n < kPieces; ++n) {
      s[n][2 * half] = exp2_fast(s[n][2 * half] - of.most[half]);
      s[n][2 * half + 1] = exp2_fast(s[n][2 * half + 1] - of.most[half]);
      sum += s[n][2 * half];
      more += s[n][2 * half + 1];
    }
    of.sum[half] = quad_sum(sum + more);
  }
  return of;
}

template <int kSpan>
__device__ void write(const WideCall& call, const Head<kDim, kSpan>& head,
                      const float (&o)[kDim / 8][4], const Softened& of, int first) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int token = first + 8 * half + static_cast<int>(threadIdx.x) % 32 / 4;
    const float factor = head.branch / of.sum[half];
    unsigned w[kDim / 8];
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n)
      w[n] = pack(o[n][2 * half] * factor, o[n][2 * half + 1] * factor);
    words_from_mma<kDim, kSpan>(w, head.t);
    if (!head.there(token)) continue;
    store_words<kDim, kSpan>(call.y + head.output() + token * head.output_row(), w, head.t);
    if (head.t == 0) call.lse[head.lse() + token] = (of.most[half] + log2f(of.sum[half])) * kLn2;
  }
}

/// A block: one warp group, one head, 64 queries after 64.
template <int kSpan>
__global__ void __launch_bounds__(kThreads, kBlocks)
    attention_forward_sm90(const __grid_constant__ WideCall call) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char memory[];
  unsigned char *const key_rows = memory, *const value_rows =
                                              memory + kWideRows * RowTiles<kDim>::kRowBytes;
  const int pair = static_cast<int>(blockIdx.x), tokens = call.heads.tokens;
  const Head<kDim, kSpan> head(call.heads, pair);
  head.copy(key_rows, head.first(1), head.row(), 0, kWideRows);
  head.copy(value_rows, head.first(2), head.row(), 0, kWideRows);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  unsigned raw[2][kDim / 8];  // the queries that are next
  head.template load_rows<1>(raw, 0, 16 * warp);
  wait_for_copies();
  head.prepare_rows(key_rows, 1, 0, kWideRows);
  show_to_products();
  __syncthreads();

  const std::uint64_t keys = row_tiles(shared_address(key_rows));
  const std::uint64_t values = row_tiles(shared_address(value_rows));
#pragma unroll 1
  for (int block = 0; block < tokens; block += 64) {
    const int first = block + 16 * warp;
    const bool is_there = first < tokens;  // of the whole warp; the products want all four
    unsigned q[1][kDim / 16][4] = {};
    if (is_there) head.template prepare_operands<1>(q, raw, 0, first);
    float s[kPieces][4];
    before_products();
#pragma unroll
    for (int step = 0; step < kDim / 16; ++step)
      multiply_wide(s, q[0][step], keys + static_cast<unsigned>(2 * step), step);
    head.template load_rows<1>(raw, 0, first + 64);
    if (block == 128 && pair + call.ahead < call.pairs) {
      const Head<kDim, kSpan> next(call.heads, pair + call.ahead);
      for (int which = 0; which < 3; ++which)
        next.come_near(next.first(which), next.row());
    }
    wait_for_products();
    settle(s);
    Softened of = {};
    if (is_there) of = soften(s, tokens, head.t);
    unsigned p[kWideTiles][4];
#pragma unroll
    for (int j = 0; j < kWideTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        p[j][i] = pack(s[2 * j + i / 2][i % 2 * 2], s[2 * j + i / 2][i % 2 * 2 + 1]);
    float o[kDim / 8][4];
    settle(p);
    before_products();
#pragma unroll
    for (int j = 0; j < kWideTiles; ++j)
      multiply_wide_by_rows(o, p[j], values + static_cast<unsigned>(128 * j), j);
    wait_for_products();
    settle(o);
    if (is_there) write(call, head, o, of, first);
  }
#endif
}

template <int kSpan>
cudaError_t start(const QkvAttentionCall& call, const Launch& on) {
  constexpr int kBytes = 2 * kWideRows * RowTiles<kDim>::kRowBytes;
  const auto kernel = attention_forward_sm90<kSpan>;
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error == cudaSuccess)  // three blocks; the rest holds the table of turns
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 71);
  if (error != cudaSuccess) return error;
  const std::int64_t pairs = call.heads.batch * call.heads.heads;
  const WideCall of{.heads = fused_heads(call, static_cast<const unsigned*>(on.workspace)),
                    .y = static_cast<__nv_bfloat16*>(call.y.data),
                    .lse = call.lse,
                    .pairs = static_cast<int>(pairs),
                    .ahead = kBlocks * on.multiprocessors};
  kernel<<<static_cast<unsigned>(pairs), kThreads, kBytes, on.stream>>>(of);
  return cudaPeekAtLastError();
}

}  // namespace

cudaError_t launch_sm90(const QkvAttentionCall& call, const Launch& on) {
  if (call.heads.batch * call.heads.heads == 0) return cudaSuccess;
  if (const cudaError_t error = launch_turns(call, on); error != cudaSuccess) return error;
  return call.heads.rope_span == kDim ? start<kDim>(call, on) : start<kDim / 2>(call, on);
}

}  // namespace sluice::train::cuda
