// sluice/train/cuda_module/attention_backward_launch.cuh - what launches of the fused backward have in
// common: the table of turns, partial sums of d_gamma in the workspace, and their addition.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/attention_backward_tiles.cuh"
#include "sluice/train/cuda_module/column_sums.cuh"

#include <algorithm>

namespace sluice::train::cuda {

template <class Kernel>
cudaError_t start(Kernel kernel, dim3 grid, int warps, int bytes, const BackwardCall& call,
                  const Launch& on) {
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error == cudaSuccess)  // two blocks need nearly all of it
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared);
  if (error != cudaSuccess) return error;
  kernel<<<grid, static_cast<unsigned>(warps * 32), static_cast<std::size_t>(bytes), on.stream>>>(
      call);
  return cudaPeekAtLastError();
}

/// kernels(BackwardCall, grid) for as many pairs at a time as the workspace holds partial sums of:
/// kDim of q and of k for each of `blocks` blocks of a pair, or as many less as the kernels say; and
/// `kept` bytes of each pair, a multiple of 16.
template <int kDim, class Kernels>
cudaError_t launch_by_pairs(const QkvAttentionBackwardCall& call, int rows, std::int64_t blocks,
                            const Launch& on, Kernels kernels, std::int64_t kept = 0) {
  const std::int64_t pairs = call.heads.batch * call.heads.heads;
  if (pairs == 0 || call.heads.tokens == 0) return cudaSuccess;
  if (const cudaError_t error = launch_turns(call, on); error != cudaSuccess) return error;
  const std::size_t turns = turns_bytes(call.heads);
  const std::int64_t pair_bytes = blocks * kDim * 2 * 4 + kept;
  const std::int64_t most =
      std::min(pairs, static_cast<std::int64_t>(on.workspace_bytes - turns) / pair_bytes);
  if (most == 0) return cudaErrorMemoryAllocation;
  BackwardCall of{.heads = fused_heads(call, static_cast<const unsigned*>(on.workspace)),
                  .d_qkv = static_cast<__nv_bfloat16*>(call.d_qkv.data),
                  .dy = static_cast<const __nv_bfloat16*>(call.dy.data),
                  .y = static_cast<const __nv_bfloat16*>(call.y.data),
                  .lse = call.lse,
                  .partial_q = static_cast<float*>(on.workspace) + turns / 4,
                  .partial_k = nullptr,
                  .rows = rows};
  of.partial_k = of.partial_q + most * blocks * kDim;
  of.kept = of.partial_k + most * blocks * kDim;
  for (std::int64_t pair = 0; pair < pairs; pair += most) {
    const std::int64_t count = std::min(most, pairs - pair);
    of.heads.first_pair = static_cast<int>(pair);
    of.partials = static_cast<int>(count * blocks);
    cudaError_t error =
        kernels(of, dim3(static_cast<unsigned>(count), static_cast<unsigned>(blocks)));
    if (error == cudaSuccess)
      error = launch_column_sums({.to = {call.d_gamma_q, call.d_gamma_k},
                                  .from = {of.partial_q, of.partial_k},
                                  .rows = of.partials,
                                  .columns = kDim},
                                 on);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace sluice::train::cuda
