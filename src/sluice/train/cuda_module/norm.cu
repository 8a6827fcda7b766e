// sluice/train/cuda_module/norm.cu - RMSNorm forward and backward. A row is held in the registers
// of 8 to 32 lanes, gamma and its gradient stay in registers over all rows of a group.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/vectors.cuh"

namespace sluice::train::cuda {
namespace {

constexpr int kForwardThreads = 128, kBackwardThreads = 256;
/// Blocks that are resident on a multiprocessor, by the registers that a lane of kChunks needs.
constexpr int forward_blocks(int chunks) {
  return chunks <= 4 ? 6 : 3;
}
constexpr int backward_blocks(int chunks) {
  return chunks <= 3 ? 2 : 1;
}

/// Groups of kLanes threads, each with row `group`, then `group + groups`, ...: `sweeps` rows.
struct Sweeps {
  std::int64_t rows = 0, dim = 0;
  int count = 0;
};

/// kChunks accesses of kVector elements: chunk c of a lane starts at column
/// (lane + c · kLanes) · kVector. dim is at most kLanes · kChunks · kVector.
template <class Act, class Res, int kLanes, int kChunks>
__global__ void __launch_bounds__(kForwardThreads, forward_blocks(kChunks))
    rms_norm_forward_kernel(Act* y, float* rstd, const Res* x, const float* gamma, Sweeps sweeps,
                            float epsilon) {
  constexpr int kVector = kTogether<Act, Res>;
  const int thread = static_cast<int>(blockIdx.x * kForwardThreads + threadIdx.x);
  const int lane = thread % kLanes, groups = static_cast<int>(gridDim.x) * kForwardThreads / kLanes;
  const std::int64_t dim = sweeps.dim;
  float weight[kChunks][kVector];
#pragma unroll
  for (int c = 0; c < kChunks; ++c)
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const int column = (lane + c * kLanes) * kVector + i;
      weight[c][i] = column < dim ? gamma[column] : 0.0F;
    }
  Pack<Res, kVector> held[kChunks], next[kChunks];
  const auto fetch = [&](Pack<Res, kVector>(&into)[kChunks], std::int64_t row) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int column = (lane + c * kLanes) * kVector;
      into[c] = {};
      if (row < sweeps.rows && column < dim) into[c] = load<kVector>(x + row * dim + column);
    }
  };
  std::int64_t row = thread / kLanes;
  fetch(held, row);
  for (int sweep = 0; sweep < sweeps.count; ++sweep, row += groups) {
    fetch(next, sweep + 1 < sweeps.count ? row + groups : sweeps.rows);
    float squares = 0;
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int i = 0; i < kVector; ++i)
        squares += held[c][i] * held[c][i];
    const float scale = rsqrtf(lanes_sum<kLanes>(squares) / static_cast<float>(dim) + epsilon);
    if (row < sweeps.rows) {
      if (lane == 0) rstd[row] = scale;
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const int column = (lane + c * kLanes) * kVector;
        float out[kVector];
#pragma unroll
        for (int i = 0; i < kVector; ++i)
          out[i] = weight[c][i] * held[c][i] * scale;
        if (column < dim) store(y + row * dim + column, out);
      }
    }
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
      held[c] = next[c];
  }
}

/// Any dim and alignment: a warp per row, which is read twice.
template <class Act, class Res>
__global__ void rms_norm_forward_any_kernel(Act* y, float* rstd, const Res* x, const float* gamma,
                                            std::int64_t rows, std::int64_t dim, float epsilon) {
  const std::int64_t row = blockIdx.x * std::int64_t{blockDim.y} + threadIdx.y;
  if (row >= rows) return;  // whole warps
  x += row * dim;
  float squares = 0;
  for (std::int64_t i = threadIdx.x; i < dim; i += 32)
    squares += to_float(x[i]) * to_float(x[i]);
  const float scale = rsqrtf(lanes_sum(squares) / static_cast<float>(dim) + epsilon);
  if (threadIdx.x == 0) rstd[row] = scale;
  for (std::int64_t i = threadIdx.x; i < dim; i += 32) {
    const float out[1] = {gamma[i] * to_float(x[i]) * scale};
    store(y + row * dim + i, out);
  }
}

/// dx, and per block the sum of dy · x · rstd over its rows in partial[block][dim].
template <class Act, class Res, int kLanes, int kChunks>
__global__ void __launch_bounds__(kBackwardThreads, backward_blocks(kChunks))
    rms_norm_backward_kernel(Res* dx, Act* copy, float* partial, const Act* dy, const Res* x,
                             const float* rstd, const float* gamma, Sweeps sweeps) {
  constexpr int kVector = kTogether<Act, Res>;
  const int thread = static_cast<int>(blockIdx.x * kBackwardThreads + threadIdx.x);
  const int lane = thread % kLanes,
            groups = static_cast<int>(gridDim.x) * kBackwardThreads / kLanes;
  const std::int64_t dim = sweeps.dim;
  float weight[kChunks][kVector], d_weight[kChunks][kVector];
#pragma unroll
  for (int c = 0; c < kChunks; ++c)
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const int column = (lane + c * kLanes) * kVector + i;
      weight[c][i] = column < dim ? gamma[column] : 0.0F;
      d_weight[c][i] = 0;
    }
  std::int64_t row = thread / kLanes;
  for (int sweep = 0; sweep < sweeps.count; ++sweep, row += groups) {
    Pack<Act, kVector> above[kChunks];
    Pack<Res, kVector> at[kChunks], sum[kChunks];
    const bool here = row < sweeps.rows;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int column = (lane + c * kLanes) * kVector;
      above[c] = {};
      at[c] = {};
      sum[c] = {};
      if (here && column < dim) {
        above[c] = load<kVector>(dy + row * dim + column);
        at[c] = load<kVector>(x + row * dim + column);
        sum[c] = load<kVector>(dx + row * dim + column);
      }
    }
    const float scale = here ? rstd[row] : 0.0F;
    float along = 0;
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int i = 0; i < kVector; ++i)
        along += weight[c][i] * above[c][i] * at[c][i];
    const float back = lanes_sum<kLanes>(along) * scale * scale * scale / static_cast<float>(dim);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int column = (lane + c * kLanes) * kVector;
      float out[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        const float slope = scale * above[c][i];
        out[i] = sum[c][i] + (slope * weight[c][i] - back * at[c][i]);
        d_weight[c][i] += slope * at[c][i];
      }
      if (here && column < dim) {
        store(dx + row * dim + column, out);
        if (copy != nullptr) store(copy + row * dim + column, out);
      }
    }
  }
  // One chunk of all groups at a time, groups added in order. Element i of all threads lies
  // together, and starts 32 / kVector banks further: no conflict when written or read.
  constexpr int kRow = kBackwardThreads + 32 / kVector;
  __shared__ float of_group[kVector * kRow];
  const int in_block = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      of_group[i * kRow + in_block] = d_weight[c][i];
    __syncthreads();
    const int column = c * kLanes * kVector + in_block;
    if (in_block < kLanes * kVector && column < dim) {
      const float* first = of_group + in_block % kVector * kRow + in_block / kVector;
      float total = 0;
#pragma unroll
      for (int group = 0; group < kBackwardThreads / kLanes; ++group)
        total += first[group * kLanes];
      partial[blockIdx.x * dim + column] = total;
    }
  }
}

/// Any dim and alignment: a warp per row.
template <class Act, class Res>
__global__ void rms_norm_backward_any_kernel(Res* dx, Act* copy, const Act* dy, const Res* x,
                                             const float* rstd, const float* gamma,
                                             std::int64_t rows, std::int64_t dim) {
  const std::int64_t row = blockIdx.x * std::int64_t{blockDim.y} + threadIdx.y;
  if (row >= rows) return;  // whole warps
  const std::int64_t start = row * dim;
  const float scale = rstd[row];
  float along = 0;
  for (std::int64_t i = threadIdx.x; i < dim; i += 32)
    along += gamma[i] * to_float(dy[start + i]) * to_float(x[start + i]);
  const float back = lanes_sum(along) * scale * scale * scale / static_cast<float>(dim);
  for (std::int64_t i = threadIdx.x; i < dim; i += 32) {
    const float out[1] = {to_float(dx[start + i]) + (scale * gamma[i] * to_float(dy[start + i]) -
                                                     back * to_float(x[start + i]))};
    store(dx + start + i, out);
    if (copy != nullptr) store(copy + start + i, out);
  }
}
template <class Act, class Res>
__global__ void rms_norm_gamma_any_kernel(float* partial, const Act* dy, const Res* x,
                                          const float* rstd, std::int64_t rows, std::int64_t dim) {
  const std::int64_t column = blockIdx.y * std::int64_t{blockDim.x} + threadIdx.x;
  float sums[1] = {0};
  if (column < dim)
    for (std::int64_t row = blockIdx.x * std::int64_t{blockDim.y} + threadIdx.y; row < rows;
         row += std::int64_t{gridDim.x} * blockDim.y)
      sums[0] += to_float(dy[row * dim + column]) * to_float(x[row * dim + column]) * rstd[row];
  store_column_sums(partial, sums, column, dim);
}

/// As many rows for every group, on no more blocks than are resident.
Sweeps sweeps_of(unsigned& blocks, std::int64_t rows, std::int64_t dim,
                 std::int64_t groups_per_block, std::int64_t most_blocks) {
  const std::int64_t groups = most_blocks * groups_per_block;
  const std::int64_t count = (rows + groups - 1) / groups;
  blocks = blocks_for((rows + count - 1) / count, groups_per_block);
  return {rows, dim, static_cast<int>(count)};
}

/// body(lanes, chunks) as constants, the fewest that hold a row of `accesses`; false: too long.
template <int kLanes, int kChunks>
struct Layout {};
template <class Body>
bool with_layout(std::int64_t accesses, Body body) {
  if (accesses <= 8 * 3)
    body(Layout<8, 3>{});
  else if (accesses <= 16 * 3)
    body(Layout<16, 3>{});
  else if (accesses <= 32 * 3)
    body(Layout<32, 3>{});
  else if (accesses <= 32 * 4)
    body(Layout<32, 4>{});
  else if (accesses <= 32 * 8)
    body(Layout<32, 8>{});
  else
    return false;
  return true;
}

template <class Act, class Res>
cudaError_t forward(const RmsNormCall& c, const Launch& on) {
  auto* y = static_cast<Act*>(c.y.data);
  const auto* x = static_cast<const Res*>(c.x.data);
  constexpr int kVector = kTogether<Act, Res>;
  const bool fast =
      c.dim % kVector == 0 && aligned(y, x) &&
      with_layout(c.dim / kVector, [&]<int kLanes, int kChunks>(Layout<kLanes, kChunks>) {
        unsigned blocks = 0;
        const Sweeps sweeps = sweeps_of(blocks, c.rows, c.dim, kForwardThreads / kLanes,
                                        on.multiprocessors * forward_blocks(kChunks));
        rms_norm_forward_kernel<Act, Res, kLanes, kChunks>
            <<<blocks, kForwardThreads, 0, on.stream>>>(y, c.rstd, x, c.gamma, sweeps, c.epsilon);
      });
  if (!fast)
    rms_norm_forward_any_kernel<<<blocks_for(c.rows, 8), dim3(32, 8), 0, on.stream>>>(
        y, c.rstd, x, c.gamma, c.rows, c.dim, c.epsilon);
  return cudaGetLastError();
}

template <class Act, class Res>
cudaError_t backward(const RmsNormBackwardCall& c, const Launch& on) {
  auto* dx = static_cast<Res*>(c.dx.data);
  auto* copy = static_cast<Act*>(c.copy.data);
  const auto* dy = static_cast<const Act*>(c.dy.data);
  const auto* x = static_cast<const Res*>(c.x.data);
  auto* partial = static_cast<float*>(on.workspace);
  constexpr int kVector = kTogether<Act, Res>;
  unsigned blocks = 0;
  const auto room = [&] {
    return blocks * static_cast<std::size_t>(c.dim) * sizeof(float) <= on.workspace_bytes;
  };
  bool enough = true;
  const bool fast =
      c.dim % kVector == 0 && aligned(dx, copy, dy, x) &&
      with_layout(c.dim / kVector, [&]<int kLanes, int kChunks>(Layout<kLanes, kChunks>) {
        const Sweeps sweeps = sweeps_of(blocks, c.rows, c.dim, kBackwardThreads / kLanes,
                                        on.multiprocessors * backward_blocks(kChunks));
        enough = room();
        if (enough)
          rms_norm_backward_kernel<Act, Res, kLanes, kChunks>
              <<<blocks, kBackwardThreads, 0, on.stream>>>(dx, copy, partial, dy, x, c.rstd,
                                                           c.gamma, sweeps);
      });
  if (!fast) {
    const ColumnWalk walk = column_walk(c.rows, c.dim, 4, 8, on);
    blocks = walk.grid.x;
    enough = room();
    if (enough) {
      rms_norm_gamma_any_kernel<<<walk.grid, walk.block, 0, on.stream>>>(partial, dy, x, c.rstd,
                                                                         c.rows, c.dim);
      rms_norm_backward_any_kernel<<<blocks_for(c.rows, 8), dim3(32, 8), 0, on.stream>>>(
          dx, copy, dy, x, c.rstd, c.gamma, c.rows, c.dim);
    }
  }
  if (!enough) return cudaErrorMemoryAllocation;
  return add_partials(c.d_gamma, partial, static_cast<int>(blocks), c.dim, on);
}

}  // namespace

cudaError_t launch(const RmsNormCall& call, const Launch& on) {
  if (call.rows == 0) return cudaSuccess;
  return with_types(call.y.type, call.x.type, [&]<class Act, class Res>(Type<Act>, Type<Res>) {
    return forward<Act, Res>(call, on);
  });
}

cudaError_t launch(const RmsNormBackwardCall& call, const Launch& on) {
  if (call.rows == 0) return cudaSuccess;
  return with_types(call.dy.type, call.x.type, [&]<class Act, class Res>(Type<Act>, Type<Res>) {
    return backward<Act, Res>(call, on);
  });
}

}  // namespace sluice::train::cuda
