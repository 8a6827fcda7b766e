// sluice/train/cuda_module/attention_plain.cu - attention without tensor cores: AttentionCall, its
// backward, and the fused calls in every type and size. Sums and scores in fp32.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/attention_plain.cuh"
#include "sluice/train/cuda_module/column_sums.cuh"
#include "sluice/train/cuda_module/warp_row.cuh"

#include <algorithm>

namespace sluice::train::cuda {
namespace {

constexpr int kWarps = 4, kOwned = 16, kRows = kOwned / kWarps;  // rows of a block, of a warp
constexpr int kOther = 32;                                       // rows that a lane each looks at
static_assert(kRows == 4, "the rows of a warp are a float4");
/// Channels per lane that heads of up to 64 need: loops over eight would be idle for most.
constexpr int kFew = 2;

/// Floats from one own row to the next: all lanes read the same piece of 16 bytes.
__host__ __device__ constexpr int own_stride(int dim) {
  return (dim + 3) / 4 * 4;
}
/// The same of other rows, which every lane reads at its own row: no two in one bank.
__host__ __device__ constexpr int other_stride(int dim) {
  return dim + 1;
}

/// q, k, v and their gradients: separate (gamma null) or in qkv, raw.
template <class T>
struct PlainHeads {
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  T *dq = nullptr, *dk = nullptr, *dv = nullptr;
  const float *gamma_q = nullptr, *gamma_k = nullptr, *cosine = nullptr, *sine = nullptr,
              *branch_scale = nullptr;
  T* out = nullptr;  // y, forward
  float* out_lse = nullptr;
  const T *dy = nullptr, *y = nullptr;  // backward
  const float* lse = nullptr;
  float *partial_q = nullptr, *partial_k = nullptr;  // [blocks, dim]
  std::int64_t first_pair = 0;
  int tokens = 0, heads = 0, dim = 0, span = 0;
  float epsilon = 0, scale = 0;
  bool causal = false;
};

/// One pair of it.
template <class T>
struct PlainHead {
  const PlainHeads<T>& all;
  std::int64_t at = 0, row = 0;             // first token in q (k, v); elements from token to token
  std::int64_t output = 0, output_row = 0;  // the same in y and dy
  std::int64_t lse = 0;
  float branch = 1;
  int lane = static_cast<int>(threadIdx.x) % 32;

  __device__ PlainHead(const PlainHeads<T>& of, std::int64_t pair) : all(of) {
    const std::int64_t sample = pair / of.heads, head = pair % of.heads;
    output_row = static_cast<std::int64_t>(of.heads) * of.dim;
    output = sample * of.tokens * output_row + head * of.dim;
    row = of.gamma_q == nullptr ? of.dim : 3 * output_row;
    at = of.gamma_q == nullptr ? pair * of.tokens * of.dim
                               : sample * of.tokens * row + head * of.dim;
    lse = pair * of.tokens;
    if (of.branch_scale != nullptr) branch = of.branch_scale[sample];
  }
  __device__ Turn turn(int token) const {
    return {all.cosine + static_cast<std::int64_t>(token) * all.dim,
            all.sine + static_cast<std::int64_t>(token) * all.dim, all.dim, all.span};
  }
  /// A token's row of q, k or v into shared memory, as attention uses it; zeros beyond the end.
  __device__ void load(float* to, const T* from, const float* gamma, int token) const {
    float x[kPerLane] = {};
    if (token < all.tokens) {
      load_row(x, from + at + token * row, all.dim, lane);
      if (gamma != nullptr)
        norm_and_turn_row(x, rstd_of_row(x, all.dim, all.epsilon), gamma, turn(token), to, lane);
    }
    store_row(to, x, all.dim, lane);
  }
  /// dy into shared memory; its product with y is delta.
  __device__ void load_gradient(float* to, float* delta, float* row_lse, int token) const {
    float x[kPerLane] = {}, y[kPerLane] = {}, dot = 0;
    if (token < all.tokens) {
      load_row(x, all.dy + output + token * output_row, all.dim, lane);
      load_row(y, all.y + output + token * output_row, all.dim, lane);
    }
    store_row(to, x, all.dim, lane);
#pragma unroll
    for (int c = 0; c < kPerLane; ++c)
      dot += x[c] * y[c];
    dot = warp_sum(dot);
    if (lane == 0) *delta = dot, *row_lse = token < all.tokens ? all.lse[lse + token] : INFINITY;
  }
  /// The gradient of a row as load() made it, from registers; `scratch` is dim floats of this warp.
  __device__ void store(T* to, float (&d)[kPerLane], float (&d_gamma)[kPerLane], const T* from,
                        const float* gamma, int token, float* scratch) const {
    if (token >= all.tokens) return;
    if (gamma != nullptr) {
      float x[kPerLane];
      load_row(x, from + at + token * row, all.dim, lane);
      norm_and_turn_row_backward(d, d_gamma, x, rstd_of_row(x, all.dim, all.epsilon), gamma,
                                 turn(token), scratch, lane);
    }
    store_row(to + at + token * row, d, all.dim, lane);
  }
};

/// sums[r] = the warp's own row r · other; `own` is its first, the next lie kWarps rows further.
__device__ inline void dot_own_rows(float (&sums)[kRows], const float* own, const float* other,
                                    int dim) {
  const int step = kWarps * own_stride(dim);
#pragma unroll
  for (float& sum : sums)
    sum = 0;
  int c = 0;
  for (; c + 4 <= dim; c += 4) {
    const float x0 = other[c], x1 = other[c + 1], x2 = other[c + 2], x3 = other[c + 3];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float4 a = *reinterpret_cast<const float4*>(own + r * step + c);
      sums[r] = fmaf(a.w, x3, fmaf(a.z, x2, fmaf(a.y, x1, fmaf(a.x, x0, sums[r]))));
    }
  }
  for (; c < dim; ++c)
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      sums[r] = fmaf(own[r * step + c], other[c], sums[r]);
}

/// to[r] += Σ weight[r] of other row j · that row, over all of them. `weights`: what every lane
/// has for its other row, [kOther] of this warp in shared memory.
template <int kUsed>
__device__ void add_other_rows(float (&to)[kRows][kPerLane], const float (&weight)[kRows],
                               float4* weights, const float* other, int dim, int lane) {
  __syncwarp();
  weights[lane] = make_float4(weight[0], weight[1], weight[2], weight[3]);
  __syncwarp();
  for (int j = 0; j < kOther; ++j) {
    const float4 w = weights[j];
#pragma unroll
    for (int c = 0; c < kUsed; ++c) {
      if (lane + 32 * c >= dim) continue;
      const float x = other[j * other_stride(dim) + lane + 32 * c];
      to[0][c] = fmaf(w.x, x, to[0][c]);
      to[1][c] = fmaf(w.y, x, to[1][c]);
      to[2][c] = fmaf(w.z, x, to[2][c]);
      to[3][c] = fmaf(w.w, x, to[3][c]);
    }
  }
}

/// A block: 16 queries of a pair, four for each warp; a lane scores one of 32 keys at a time, for
/// all four queries, so that a number from shared memory is used more than once.
template <class T, int kUsed>
__global__ void __launch_bounds__(kWarps * 32) plain_forward(const PlainHeads<T> all) {
  extern __shared__ __align__(16) float memory[];
  __shared__ float4 weights[kWarps][kOther];
  const PlainHead<T> head(all, blockIdx.x);
  const int lane = head.lane, warp = static_cast<int>(threadIdx.x) / 32;
  const int own = own_stride(all.dim), stride = other_stride(all.dim);
  float *const q = memory, *const k = q + kOwned * own, *const v = k + kOther * stride;
  const int begin = static_cast<int>(blockIdx.y) * kOwned;
  for (int r = warp; r < kOwned; r += kWarps)
    head.load(q + r * own, all.q, all.gamma_q, begin + r);
  float o[kRows][kPerLane] = {}, most[kRows], sum[kRows];
  for (int r = 0; r < kRows; ++r)
    most[r] = -INFINITY, sum[r] = 0;
  const int end = all.causal ? min(all.tokens, begin + kOwned) : all.tokens;
  for (int from = 0; from < end; from += kOther) {
    __syncthreads();
    for (int r = warp; r < kOther; r += kWarps) {
      head.load(k + r * stride, all.k, all.gamma_k, from + r);
      head.load(v + r * stride, all.v, nullptr, from + r);
    }
    __syncthreads();
    float p[kRows];
    dot_own_rows(p, q + warp * own, k + lane * stride, all.dim);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int query = begin + r * kWarps + warp, key = from + lane;
      const bool counts = key < all.tokens && (!all.causal || key <= query);
      const float score = counts ? p[r] * all.scale : -INFINITY;
      const float now = fmaxf(most[r], warp_max(score));
      p[r] = 0;
      if (now == -INFINITY) continue;  // causal: nothing of these keys
      const float factor = expf(most[r] - now);
      p[r] = expf(score - now);
      most[r] = now;
      sum[r] = sum[r] * factor + warp_sum(p[r]);
#pragma unroll
      for (int c = 0; c < kUsed; ++c)
        o[r][c] *= factor;
    }
    add_other_rows<kUsed>(o, p, weights[warp], v, all.dim, lane);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int token = begin + r * kWarps + warp;
    if (token >= all.tokens) continue;
#pragma unroll
    for (float& value : o[r])
      value *= head.branch / sum[r];
    store_row(all.out + head.output + token * head.output_row, o[r], all.dim, lane);
    if (lane == 0) all.out_lse[head.lse + token] = most[r] + logf(sum[r]);
  }
}

/// A block: 16 keys (kKeys: dk and dv) or queries (dq), four for each warp; a lane looks at one of
/// 32 of the other kind at a time.
template <class T, bool kKeys, int kUsed>
__global__ void __launch_bounds__(kWarps * 32) plain_backward(const PlainHeads<T> all) {
  extern __shared__ __align__(16) float memory[];
  __shared__ float4 weights[kWarps][kOther];
  __shared__ float own_lse[kOwned], own_delta[kOwned], other_lse[kOther], other_delta[kOther];
  const PlainHead<T> head(all, all.first_pair + blockIdx.x);
  const int lane = head.lane, warp = static_cast<int>(threadIdx.x) / 32;
  const int wide = own_stride(all.dim), stride = other_stride(all.dim);
  float *const own1 = memory, *const own2 = own1 + kOwned * wide;  // k and v, or q and dy
  float *const other1 = own2 + kOwned * wide, *const other2 = other1 + kOther * stride;
  const int begin = static_cast<int>(blockIdx.y) * kOwned;
  const auto load = [&](bool keys, float* first, float* second, float* lse, float* delta,
                        int token) {
    head.load(first, keys ? all.k : all.q, keys ? all.gamma_k : all.gamma_q, token);
    if (keys)
      head.load(second, all.v, nullptr, token);
    else
      head.load_gradient(second, delta, lse, token);
  };
  for (int r = warp; r < kOwned; r += kWarps)
    load(kKeys, own1 + r * wide, own2 + r * wide, own_lse + r, own_delta + r, begin + r);
  float d1[kRows][kPerLane] = {}, d2[kRows][kPerLane] = {}, d_gamma[kPerLane] = {};
  const int first = kKeys && all.causal ? begin / kOther * kOther : 0;
  const int end = !kKeys && all.causal ? min(all.tokens, begin + kOwned) : all.tokens;
  for (int from = first; from < end; from += kOther) {
    __syncthreads();
    for (int r = warp; r < kOther; r += kWarps)
      load(!kKeys, other1 + r * stride, other2 + r * stride, other_lse + r, other_delta + r,
           from + r);
    __syncthreads();
    float p[kRows], ds[kRows];  // first the scores and the gradients of p
    dot_own_rows(p, own1 + warp * wide, other1 + lane * stride, all.dim);
    dot_own_rows(ds, own2 + warp * wide, other2 + lane * stride, all.dim);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int own = r * kWarps + warp, other = from + lane;
      const int key = kKeys ? begin + own : other, query = kKeys ? other : begin + own;
      const bool counts = key < all.tokens && query < all.tokens && (!all.causal || key <= query);
      const float lse = kKeys ? other_lse[lane] : own_lse[own];
      const float delta = kKeys ? other_delta[lane] : own_delta[own];
      p[r] = counts ? expf(p[r] * all.scale - lse) : 0.0F;
      ds[r] = p[r] * (ds[r] * head.branch - delta) * all.scale;
      p[r] *= head.branch;
    }
    add_other_rows<kUsed>(d1, ds, weights[warp], other1, all.dim, lane);
    if constexpr (kKeys) add_other_rows<kUsed>(d2, p, weights[warp], other2, all.dim, lane);
  }
  __syncthreads();
  float* const scratch = memory + warp * wide;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int token = begin + r * kWarps + warp;
    if constexpr (kKeys) {
      head.store(all.dk, d1[r], d_gamma, all.k, all.gamma_k, token, scratch);
      head.store(all.dv, d2[r], d_gamma, all.v, nullptr, token, scratch);
    } else {
      head.store(all.dq, d1[r], d_gamma, all.q, all.gamma_q, token, scratch);
    }
  }
  if (all.gamma_q != nullptr)
    write_warp_sums((kKeys ? all.partial_k : all.partial_q) +
                        (static_cast<std::int64_t>(blockIdx.x) * gridDim.y + blockIdx.y) * all.dim,
                    d_gamma, memory, wide, kWarps, all.dim);
}

template <class T>
PlainHeads<T> plain_heads(const Heads& s) {
  PlainHeads<T> all;
  all.tokens = static_cast<int>(s.tokens), all.heads = static_cast<int>(s.heads);
  all.dim = static_cast<int>(s.head_dim), all.span = static_cast<int>(s.rope_span);
  all.epsilon = s.epsilon, all.scale = s.scale, all.causal = s.causal;
  return all;
}
/// Where the parts of qkv begin.
template <class T, class Call>
PlainHeads<T> plain_heads_of_qkv(const Call& call) {
  PlainHeads<T> all = plain_heads<T>(call.heads);
  const std::int64_t part = call.heads.heads * call.heads.head_dim;
  all.q = static_cast<const T*>(call.qkv.data), all.k = all.q + part, all.v = all.k + part;
  all.gamma_q = call.gamma_q, all.gamma_k = call.gamma_k;
  all.cosine = call.cosine, all.sine = call.sine, all.branch_scale = call.branch_scale;
  return all;
}

template <class Kernel, class T>
cudaError_t start(Kernel kernel, const PlainHeads<T>& all, std::int64_t pairs, int own_rows,
                  const Launch& on) {
  if (all.dim > kMostHeadDim) return cudaErrorInvalidValue;
  if (pairs == 0 || all.tokens == 0) return cudaSuccess;
  const int bytes = (own_rows * own_stride(all.dim) + 2 * kOther * other_stride(all.dim)) * 4;
  if (const cudaError_t error =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
      error != cudaSuccess)
    return error;
  const dim3 grid(static_cast<unsigned>(pairs),
                  static_cast<unsigned>((all.tokens + kOwned - 1) / kOwned));
  kernel<<<grid, kWarps * 32, static_cast<std::size_t>(bytes), on.stream>>>(all);
  return cudaPeekAtLastError();
}
template <class T>
cudaError_t start_forward(const PlainHeads<T>& all, std::int64_t pairs, const Launch& on) {
  if (all.dim <= 32 * kFew) return start(plain_forward<T, kFew>, all, pairs, kOwned, on);
  return start(plain_forward<T, kPerLane>, all, pairs, kOwned, on);
}
template <class T, int kUsed>
cudaError_t start_both(const PlainHeads<T>& all, std::int64_t pairs, const Launch& on) {
  if (const cudaError_t error = start(plain_backward<T, true, kUsed>, all, pairs, 2 * kOwned, on);
      error != cudaSuccess)
    return error;
  return start(plain_backward<T, false, kUsed>, all, pairs, 2 * kOwned, on);
}
template <class T>
cudaError_t start_backward(const PlainHeads<T>& all, std::int64_t pairs, const Launch& on) {
  return all.dim <= 32 * kFew ? start_both<T, kFew>(all, pairs, on)
                              : start_both<T, kPerLane>(all, pairs, on);
}

template <class T>
cudaError_t forward(const AttentionCall& call, const Launch& on) {
  PlainHeads<T> all = plain_heads<T>(call.heads);
  all.q = static_cast<const T*>(call.q.data), all.k = static_cast<const T*>(call.k.data);
  all.v = static_cast<const T*>(call.v.data);
  all.out = static_cast<T*>(call.y.data), all.out_lse = call.lse;
  return start_forward(all, call.heads.batch * call.heads.heads, on);
}
template <class T>
cudaError_t backward(const AttentionBackwardCall& call, const Launch& on) {
  PlainHeads<T> all = plain_heads<T>(call.heads);
  all.q = static_cast<const T*>(call.q.data), all.k = static_cast<const T*>(call.k.data);
  all.v = static_cast<const T*>(call.v.data);
  all.dq = static_cast<T*>(call.dq.data), all.dk = static_cast<T*>(call.dk.data);
  all.dv = static_cast<T*>(call.dv.data);
  all.dy = static_cast<const T*>(call.dy.data), all.y = static_cast<const T*>(call.y.data);
  all.lse = call.lse;
  return start_backward(all, call.heads.batch * call.heads.heads, on);
}
template <class T>
cudaError_t forward(const QkvAttentionCall& call, const Launch& on) {
  PlainHeads<T> all = plain_heads_of_qkv<T>(call);
  all.out = static_cast<T*>(call.y.data), all.out_lse = call.lse;
  return start_forward(all, call.heads.batch * call.heads.heads, on);
}
template <class T>
cudaError_t backward(const QkvAttentionBackwardCall& call, const Launch& on) {
  PlainHeads<T> all = plain_heads_of_qkv<T>(call);
  all.dq = static_cast<T*>(call.d_qkv.data);
  all.dk = all.dq + (all.k - all.q), all.dv = all.dq + (all.v - all.q);
  all.dy = static_cast<const T*>(call.dy.data), all.y = static_cast<const T*>(call.y.data);
  all.lse = call.lse;
  // Partial sums of as many pairs as the workspace holds at a time.
  const std::int64_t pairs = call.heads.batch * call.heads.heads;
  const std::int64_t blocks = (call.heads.tokens + kOwned - 1) / kOwned;
  if (pairs == 0 || blocks == 0) return cudaSuccess;
  const std::int64_t most = std::min(pairs, static_cast<std::int64_t>(on.workspace_bytes) /
                                                (blocks * call.heads.head_dim * 2 * 4));
  if (most == 0) return cudaErrorMemoryAllocation;
  all.partial_q = static_cast<float*>(on.workspace);
  all.partial_k = all.partial_q + most * blocks * call.heads.head_dim;
  for (std::int64_t pair = 0; pair < pairs; pair += most) {
    const std::int64_t count = std::min(most, pairs - pair);
    all.first_pair = pair;
    cudaError_t error = start_backward(all, count, on);
    if (error == cudaSuccess)
      error = launch_column_sums({.to = {call.d_gamma_q, call.d_gamma_k},
                                  .from = {all.partial_q, all.partial_k},
                                  .rows = static_cast<int>(count * blocks),
                                  .columns = all.dim},
                                 on);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t launch(const AttentionCall& call, const Launch& on) {
  return call.q.type == Dtype::bf16 ? forward<__nv_bfloat16>(call, on) : forward<float>(call, on);
}
cudaError_t launch(const AttentionBackwardCall& call, const Launch& on) {
  return call.q.type == Dtype::bf16 ? backward<__nv_bfloat16>(call, on) : backward<float>(call, on);
}
cudaError_t launch_plain(const QkvAttentionCall& call, const Launch& on) {
  return call.qkv.type == Dtype::bf16 ? forward<__nv_bfloat16>(call, on) : forward<float>(call, on);
}
cudaError_t launch_plain(const QkvAttentionBackwardCall& call, const Launch& on) {
  return call.qkv.type == Dtype::bf16 ? backward<__nv_bfloat16>(call, on)
                                      : backward<float>(call, on);
}

}  // namespace sluice::train::cuda
