// sluice/train/cuda_module/branch.cu - the residual branch with its scales, forward and backward:
// threads own columns and walk down the rows.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/vectors.cuh"

namespace sluice::train::cuda {
namespace {

constexpr int kThreads = 256, kAtOnce = 4;  // rows of a thread that are in flight together

/// branch_scale[row / rows_per_scale], or 1.
struct RowScale {
  const float* scale = nullptr;
  std::int64_t rows_per_scale = 1;
  __device__ float operator()(std::int64_t row) const {
    if (scale == nullptr) return 1.0F;
    if (((row | rows_per_scale) >> 32U) == 0)  // a division of 32 bits will do
      return scale[static_cast<unsigned>(row) / static_cast<unsigned>(rows_per_scale)];
    return scale[row / rows_per_scale];
  }
};

template <int kVector>
__device__ inline void read_gamma(float (&weight)[kVector], const float* gamma, std::int64_t column,
                                  std::int64_t dim) {
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    weight[i] = gamma != nullptr && column < dim ? gamma[column + i] : 1.0F;
}

template <class Act, class Res, int kVector>
__global__ void __launch_bounds__(kThreads)
    add_branch_forward_kernel(Res* y, const Res* x, const Act* branch, const float* gamma,
                              RowScale row_scale, std::int64_t rows, std::int64_t dim) {
  const std::int64_t column = (blockIdx.y * std::int64_t{blockDim.x} + threadIdx.x) * kVector;
  if (column >= dim) return;
  float weight[kVector];
  read_gamma(weight, gamma, column, dim);
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.y;
  for (std::int64_t first = blockIdx.x * std::int64_t{blockDim.y} + threadIdx.y; first < rows;
       first += kAtOnce * stride) {
    Pack<Res, kVector> at[kAtOnce];
    Pack<Act, kVector> add[kAtOnce];
    float scale[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t row = first + k * stride;
      if (row >= rows) continue;
      at[k] = load<kVector>(x + row * dim + column);
      add[k] = load<kVector>(branch + row * dim + column);
      scale[k] = row_scale(row);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t row = first + k * stride;
      if (row >= rows) continue;
      float out[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i)
        out[i] = at[k][i] + scale[k] * weight[i] * add[k][i];
      store(y + row * dim + column, out);
    }
  }
}

/// kSums: with d_gamma, of which each block leaves its part in partial[block][dim].
template <class Act, class Res, int kVector, bool kSums>
__global__ void __launch_bounds__(kThreads)
    add_branch_backward_kernel(Act* d_branch, float* partial, const Res* dy, const Act* branch,
                               const float* gamma, RowScale row_scale, std::int64_t rows,
                               std::int64_t dim) {
  const std::int64_t column = (blockIdx.y * std::int64_t{blockDim.x} + threadIdx.x) * kVector;
  float weight[kVector], sums[kVector] = {};
  read_gamma(weight, gamma, column, dim);
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.y;
  const std::int64_t end = column < dim ? rows : 0;  // no return: the block meets below
  for (std::int64_t first = blockIdx.x * std::int64_t{blockDim.y} + threadIdx.y; first < end;
       first += kAtOnce * stride) {
    Pack<Res, kVector> above[kAtOnce];
    Pack<Act, kVector> at[kAtOnce];
    float scale[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t row = first + k * stride;
      if (row >= rows) continue;
      above[k] = load<kVector>(dy + row * dim + column);
      if constexpr (kSums) at[k] = load<kVector>(branch + row * dim + column);
      scale[k] = row_scale(row);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t row = first + k * stride;
      if (row >= rows) continue;
      float out[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        const float scaled = scale[k] * above[k][i];
        out[i] = scaled * weight[i];
        if constexpr (kSums) sums[i] += scaled * at[k][i];
      }
      store(d_branch + row * dim + column, out);
    }
  }
  if constexpr (kSums) store_column_sums(partial, sums, column, dim);
}

template <class Act, class Res, int kVector>
cudaError_t backward(const AddBranchBackwardCall& c, const Launch& on) {
  auto* d_branch = static_cast<Act*>(c.d_branch.data);
  const auto* dy = static_cast<const Res*>(c.dy.data);
  const auto* branch = static_cast<const Act*>(c.branch.data);
  auto* partial = static_cast<float*>(on.workspace);
  const RowScale scale{c.branch_scale, c.rows_per_scale};
  const ColumnWalk walk = column_walk(c.rows, c.dim / kVector, 3, kAtOnce, on);
  if (c.d_gamma == nullptr) {
    add_branch_backward_kernel<Act, Res, kVector, false><<<walk.grid, walk.block, 0, on.stream>>>(
        d_branch, partial, dy, branch, c.gamma, scale, c.rows, c.dim);
    return cudaGetLastError();
  }
  if (walk.grid.x * static_cast<std::size_t>(c.dim) * sizeof(float) > on.workspace_bytes)
    return cudaErrorMemoryAllocation;
  add_branch_backward_kernel<Act, Res, kVector, true><<<walk.grid, walk.block, 0, on.stream>>>(
      d_branch, partial, dy, branch, c.gamma, scale, c.rows, c.dim);
  return add_partials(c.d_gamma, partial, static_cast<int>(walk.grid.x), c.dim, on);
}

}  // namespace

cudaError_t launch(const AddBranchCall& c, const Launch& on) {
  if (c.rows == 0) return cudaSuccess;
  return with_types(c.branch.type, c.y.type, [&]<class Act, class Res>(Type<Act>, Type<Res>) {
    auto* y = static_cast<Res*>(c.y.data);
    const auto* x = static_cast<const Res*>(c.x.data);
    const auto* branch = static_cast<const Act*>(c.branch.data);
    const RowScale scale{c.branch_scale, c.rows_per_scale};
    constexpr int kWide = kTogether<Act, Res>;
    const bool wide = c.dim % kWide == 0 && aligned(y, x, branch);
    const ColumnWalk walk = column_walk(c.rows, c.dim / (wide ? kWide : 1), 4, kAtOnce, on);
    if (wide)
      add_branch_forward_kernel<Act, Res, kWide>
          <<<walk.grid, walk.block, 0, on.stream>>>(y, x, branch, c.gamma, scale, c.rows, c.dim);
    else
      add_branch_forward_kernel<Act, Res, 1>
          <<<walk.grid, walk.block, 0, on.stream>>>(y, x, branch, c.gamma, scale, c.rows, c.dim);
    return cudaGetLastError();
  });
}

cudaError_t launch(const AddBranchBackwardCall& c, const Launch& on) {
  if (c.rows == 0) return cudaSuccess;
  return with_types(c.d_branch.type, c.dy.type, [&]<class Act, class Res>(Type<Act>, Type<Res>) {
    constexpr int kWide = kTogether<Act, Res>;
    const bool wide = c.dim % kWide == 0 && aligned(static_cast<const char*>(c.d_branch.data),
                                                    static_cast<const char*>(c.dy.data),
                                                    static_cast<const char*>(c.branch.data));
    return wide ? backward<Act, Res, kWide>(c, on) : backward<Act, Res, 1>(c, on);
  });
}

}  // namespace sluice::train::cuda
