// sluice/train/cuda_module/column_sums.cuh - adds the partial sums of many blocks in a fixed order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/launch.h"

#include <cstdint>

namespace sluice::train::cuda {

struct ColumnSums {
  float* to[2] = {};
  const float* from[2] = {};  // [rows, columns] each
  int rows = 0, columns = 0;
};

/// to[c] += Σ from[r][c]. Blocks (columns / 8 up, 2) of 1024 threads: 8 columns, 128 rows at a
/// time.
static __global__ void add_column_sums(ColumnSums sums) {
  __shared__ float part[128][9];
  const int column = static_cast<int>(blockIdx.x) * 8 + static_cast<int>(threadIdx.x % 8);
  const int lane = static_cast<int>(threadIdx.x / 8);
  const float* from = blockIdx.y == 0 ? sums.from[0] : sums.from[1];
  float* to = blockIdx.y == 0 ? sums.to[0] : sums.to[1];
  float sum = 0;
  if (column < sums.columns)
#pragma unroll 4
    for (int row = lane; row < sums.rows; row += 128)
      sum += from[static_cast<std::int64_t>(row) * sums.columns + column];
  part[lane][threadIdx.x % 8] = sum;
  for (int rest = 64; rest > 0; rest /= 2) {
    __syncthreads();
    if (lane < rest) part[lane][threadIdx.x % 8] += part[lane + rest][threadIdx.x % 8];
  }
  if (lane == 0 && column < sums.columns) to[column] += part[0][threadIdx.x % 8];
}

static inline cudaError_t launch_column_sums(const ColumnSums& sums, const Launch& on) {
  const dim3 grid(static_cast<unsigned>((sums.columns + 7) / 8), 2);
  add_column_sums<<<grid, 1024, 0, on.stream>>>(sums);
  return cudaPeekAtLastError();
}

}  // namespace sluice::train::cuda
