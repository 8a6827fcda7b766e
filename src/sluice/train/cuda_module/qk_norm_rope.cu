// sluice/train/cuda_module/qk_norm_rope.cu - QkNormRopeCall and its backward: qkv taken apart,
// queries and keys normed and turned. A warp per (sample, token, head).
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/column_sums.cuh"
#include "sluice/train/cuda_module/launch.h"
#include "sluice/train/cuda_module/warp_row.cuh"

#include <algorithm>

namespace sluice::train::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kMostBlocks = 1024;  // of the backward: rows of partial sums

template <class T>
struct Parts {
  T *q = nullptr, *k = nullptr, *v = nullptr;  // by head; backward: gradients, read
  T* qkv = nullptr;                            // backward: read
  T* d_qkv = nullptr;
  float *rstd_q = nullptr, *rstd_k = nullptr;
  const float *gamma_q = nullptr, *gamma_k = nullptr, *cosine = nullptr, *sine = nullptr;
  float *partial_q = nullptr, *partial_k = nullptr;  // [blocks, dim]
  std::int64_t rows = 0;                             // batch * tokens * heads
  int tokens = 0, heads = 0, dim = 0, span = 0;
  float epsilon = 0;
};

/// Row by token (as qkv lies): where it is by head.
struct RowPlace {
  std::int64_t qkv = 0, by_head = 0;  // element of q in qkv; row in q, k, v, rstd
  int token = 0;
  template <class T>
  __device__ RowPlace(const Parts<T>& of, std::int64_t row) {
    const std::int64_t head = row % of.heads, place = row / of.heads, sample = place / of.tokens;
    token = static_cast<int>(place % of.tokens);
    qkv = (place * 3 * of.heads + head) * of.dim;
    by_head = (sample * of.heads + head) * of.tokens + token;
  }
};
template <class T>
__device__ Turn turn_of(const Parts<T>& of, int token) {
  return {of.cosine + static_cast<std::int64_t>(token) * of.dim,
          of.sine + static_cast<std::int64_t>(token) * of.dim, of.dim, of.span};
}

template <class T>
__global__ void __launch_bounds__(kWarps * 32) qk_norm_rope(const Parts<T> of) {
  __shared__ float scratch[kWarps][kMostHeadDim];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp;
  if (row >= of.rows) return;
  const RowPlace at(of, row);
  const std::int64_t part = static_cast<std::int64_t>(of.heads) * of.dim;
  for (int which = 0; which < 2; ++which) {
    float x[kPerLane];
    load_row(x, of.qkv + at.qkv + which * part, of.dim, lane);
    const float rstd = rstd_of_row(x, of.dim, of.epsilon);
    norm_and_turn_row(x, rstd, which == 0 ? of.gamma_q : of.gamma_k, turn_of(of, at.token),
                      scratch[warp], lane);
    store_row((which == 0 ? of.q : of.k) + at.by_head * of.dim, x, of.dim, lane);
    if (lane == 0) (which == 0 ? of.rstd_q : of.rstd_k)[at.by_head] = rstd;
  }
  for (int c = lane; c < of.dim; c += 32)
    of.v[at.by_head * of.dim + c] = of.qkv[at.qkv + 2 * part + c];
}

template <class T>
__global__ void __launch_bounds__(kWarps * 32) qk_norm_rope_backward(const Parts<T> of) {
  __shared__ float scratch[kWarps][kMostHeadDim];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t part = static_cast<std::int64_t>(of.heads) * of.dim;
  float d_gamma_q[kPerLane] = {}, d_gamma_k[kPerLane] = {};
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp; row < of.rows;
       row += static_cast<std::int64_t>(gridDim.x) * kWarps) {
    const RowPlace at(of, row);
    float x[kPerLane], d[kPerLane];
    load_row(x, of.qkv + at.qkv, of.dim, lane);
    load_row(d, of.q + at.by_head * of.dim, of.dim, lane);
    norm_and_turn_row_backward(d, d_gamma_q, x, of.rstd_q[at.by_head], of.gamma_q,
                               turn_of(of, at.token), scratch[warp], lane);
    store_row(of.d_qkv + at.qkv, d, of.dim, lane);
    load_row(x, of.qkv + at.qkv + part, of.dim, lane);
    load_row(d, of.k + at.by_head * of.dim, of.dim, lane);
    norm_and_turn_row_backward(d, d_gamma_k, x, of.rstd_k[at.by_head], of.gamma_k,
                               turn_of(of, at.token), scratch[warp], lane);
    store_row(of.d_qkv + at.qkv + part, d, of.dim, lane);
    for (int c = lane; c < of.dim; c += 32)
      of.d_qkv[at.qkv + 2 * part + c] = of.v[at.by_head * of.dim + c];
  }
  const std::int64_t to = static_cast<std::int64_t>(blockIdx.x) * of.dim;
  write_warp_sums(of.partial_q + to, d_gamma_q, scratch[0], kMostHeadDim, kWarps, of.dim);
  write_warp_sums(of.partial_k + to, d_gamma_k, scratch[0], kMostHeadDim, kWarps, of.dim);
}

/// The records say Read for what is not written; here one struct serves both.
template <class T, class Place>
T* typed(const Place& place) {
  return static_cast<T*>(const_cast<void*>(static_cast<const void*>(place.data)));
}
template <class T, class Call>
Parts<T> parts_of(const Call& call) {
  Parts<T> of;
  const Heads& s = call.heads;
  of.qkv = typed<T>(call.qkv);
  of.rstd_q = const_cast<float*>(call.rstd_q), of.rstd_k = const_cast<float*>(call.rstd_k);
  of.gamma_q = call.gamma_q, of.gamma_k = call.gamma_k;
  of.cosine = call.cosine, of.sine = call.sine;
  of.rows = s.batch * s.tokens * s.heads;
  of.tokens = static_cast<int>(s.tokens), of.heads = static_cast<int>(s.heads);
  of.dim = static_cast<int>(s.head_dim), of.span = static_cast<int>(s.rope_span);
  of.epsilon = s.epsilon;
  return of;
}

template <class T>
cudaError_t forward(const QkNormRopeCall& call, const Launch& on) {
  Parts<T> of = parts_of<T>(call);
  of.q = typed<T>(call.q), of.k = typed<T>(call.k), of.v = typed<T>(call.v);
  if (of.dim > kMostHeadDim) return cudaErrorInvalidValue;
  if (of.rows == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>((of.rows + kWarps - 1) / kWarps);
  qk_norm_rope<T><<<blocks, kWarps * 32, 0, on.stream>>>(of);
  return cudaPeekAtLastError();
}
template <class T>
cudaError_t backward(const QkNormRopeBackwardCall& call, const Launch& on) {
  Parts<T> of = parts_of<T>(call);
  of.q = typed<T>(call.dq), of.k = typed<T>(call.dk), of.v = typed<T>(call.dv);
  of.d_qkv = typed<T>(call.d_qkv);
  if (of.dim > kMostHeadDim) return cudaErrorInvalidValue;
  if (of.rows == 0) return cudaSuccess;
  const auto blocks =
      static_cast<unsigned>(std::min<std::int64_t>(kMostBlocks, (of.rows + kWarps - 1) / kWarps));
  if (on.workspace_bytes < std::size_t{2} * blocks * static_cast<unsigned>(of.dim) * 4)
    return cudaErrorMemoryAllocation;
  of.partial_q = static_cast<float*>(on.workspace);
  of.partial_k = of.partial_q + static_cast<std::int64_t>(blocks) * of.dim;
  qk_norm_rope_backward<T><<<blocks, kWarps * 32, 0, on.stream>>>(of);
  if (const cudaError_t error = cudaPeekAtLastError(); error != cudaSuccess) return error;
  return launch_column_sums({.to = {call.d_gamma_q, call.d_gamma_k},
                             .from = {of.partial_q, of.partial_k},
                             .rows = static_cast<int>(blocks),
                             .columns = of.dim},
                            on);
}

}  // namespace

cudaError_t launch(const QkNormRopeCall& call, const Launch& on) {
  return call.qkv.type == Dtype::bf16 ? forward<__nv_bfloat16>(call, on) : forward<float>(call, on);
}
cudaError_t launch(const QkNormRopeBackwardCall& call, const Launch& on) {
  return call.qkv.type == Dtype::bf16 ? backward<__nv_bfloat16>(call, on)
                                      : backward<float>(call, on);
}

}  // namespace sluice::train::cuda
