// sluice/train/cuda_module/embed.cu - rows of a table by ids, and the sums of their gradients.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/vectors.cuh"

namespace sluice::train::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

/// Block (32, kWarps): a warp per row.
template <class Res, int kVector>
__global__ void __launch_bounds__(kThreads)
    embed_kernel(Res* tokens, const std::int32_t* ids, const float* table, std::int64_t rows,
                 std::int64_t dim) {
  const std::int64_t row = blockIdx.x * std::int64_t{kWarps} + threadIdx.y;
  if (row >= rows) return;
  const float* from = table + ids[row] * dim;
  for (std::int64_t i = threadIdx.x * kVector; i < dim; i += 32 * kVector) {
    const Pack<float, kVector> got = load<kVector>(from + i);
    float out[kVector];
#pragma unroll
    for (int e = 0; e < kVector; ++e)
      out[e] = got[e];
    store(tokens + row * dim + i, out);
  }
}

constexpr int kScanned = 4;                     // ids that a thread looks at together
constexpr int kList = 4 * kThreads * kScanned;  // rows that a block collects before it adds them
constexpr int kColumns = 8, kPart = 32 * kColumns;  // columns of a lane; of a warp
constexpr int kAhead = 4;                           // rows whose loads are in flight together
constexpr int kFrequent = 64;                       // rows of an id that all warps share

struct Listed {
  int rows[kList], ids[kList];
  int of_warp[kWarps];
  int frequent[kList / kFrequent], frequent_count;
  float sums[kWarps][kPart];
};

/// Σ of the rows of `id` among the listed [begin, end), in their order, for columns [column, +
/// kPart).
template <class Res>
__device__ void sum_listed(float (&sum)[kColumns], const Res* d_tokens, const Listed& list,
                           int begin, int end, int id, std::int64_t column, std::int64_t dim) {
  const int lane = static_cast<int>(threadIdx.x);
  for (int first = begin; first < end; first += 32) {
    unsigned matches =
        __ballot_sync(0xffffffffU, first + lane < end && list.ids[first + lane] == id);
    while (matches != 0) {
      float got[kAhead][kColumns];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        const bool any = matches != 0;
        const std::int64_t row = any ? list.rows[first + __ffs(static_cast<int>(matches)) - 1] : 0;
        matches &= matches - 1;  // 0 stays 0
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          const std::int64_t at = column + c * 32 + lane;
          got[k][c] = any && at < dim ? to_float(d_tokens[row * dim + at]) : 0.0F;
        }
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k)
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
          sum[c] += got[k][c];
    }
  }
}
__device__ inline int count_listed(const Listed& list, int listed, int id) {
  const int lane = static_cast<int>(threadIdx.x);
  int count = 0;
  for (int first = 0; first < listed; first += 32)
    count +=
        __popc(__ballot_sync(0xffffffffU, first + lane < listed && list.ids[first + lane] == id));
  return count;
}

/// d_table[id] += the listed rows, ids [lowest, above): a warp per id; what many rows have, all
/// warps together, each a part of the list. Whole blocks; the list may be written after it.
template <class Res>
__device__ void add_listed(float* d_table, const Res* d_tokens, Listed& list, int listed,
                           std::int64_t lowest, std::int64_t above, std::int64_t column,
                           std::int64_t dim) {
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int thread = warp * 32 + lane;
  if (thread == 0) list.frequent_count = 0;
  __syncthreads();
  for (std::int64_t each = lowest + warp; each < above; each += kWarps) {
    const int id = static_cast<int>(each), count = count_listed(list, listed, id);
    if (count >= kFrequent) {
      if (lane == 0) list.frequent[atomicAdd(&list.frequent_count, 1)] = id;
    } else if (count > 0) {
      float sum[kColumns] = {};
      sum_listed(sum, d_tokens, list, 0, listed, id, column, dim);
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const std::int64_t at = column + c * 32 + lane;
        if (at < dim) d_table[each * dim + at] += sum[c];
      }
    }
  }
  __syncthreads();
  const int share = (listed + kWarps - 1) / kWarps;
  for (int i = 0; i < list.frequent_count; ++i) {  // in any order: each has a row of its own
    const int id = list.frequent[i];
    float sum[kColumns] = {};
    sum_listed(sum, d_tokens, list, min(warp * share, listed), min((warp + 1) * share, listed), id,
               column, dim);
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      list.sums[warp][c * 32 + lane] = sum[c];
    __syncthreads();
    if (const std::int64_t at = column + thread; thread < kPart && at < dim) {
      float all = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w)
        all += list.sums[w][thread];
      d_table[id * dim + at] += all;
    }
    __syncthreads();
  }
}

/// Block (32, kWarps): reads all ids, collects in order the rows whose id is among its own
/// (grid.x), and adds them for its columns (grid.y). Nobody else writes there.
template <class Res>
__global__ void __launch_bounds__(kThreads)
    embed_backward_kernel(float* d_table, const std::int32_t* ids, const Res* d_tokens,
                          std::int64_t rows, std::int64_t dim, std::int64_t vocabulary,
                          std::int64_t ids_per_block) {
  __shared__ Listed list;
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const std::int64_t lowest = blockIdx.x * ids_per_block,
                     above = min(lowest + ids_per_block, vocabulary);
  const std::int64_t column = blockIdx.y * std::int64_t{kPart};
  int listed = 0;  // the same in all threads
  const auto add_all = [&] {
    add_listed(d_table, d_tokens, list, listed, lowest, above, column, dim);
    listed = 0;
  };
  for (std::int64_t first = 0; first < rows; first += kThreads * kScanned) {
    if (listed + kThreads * kScanned > kList) {
      add_all();
      __syncthreads();  // before the list is written again
    }
    const std::int64_t own = first + (warp * 32 + lane) * kScanned;
    int id[kScanned], count = 0;
#pragma unroll
    for (int k = 0; k < kScanned; ++k) {
      id[k] = own + k < rows ? ids[own + k] : -1;
      if (id[k] >= lowest && id[k] < above)
        ++count;
      else
        id[k] = -1;
    }
    int before = count;  // inclusive sum over the lanes
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const int other = __shfl_up_sync(0xffffffffU, before, offset);
      if (lane >= offset) before += other;
    }
    if (lane == 31) list.of_warp[warp] = before;
    __syncthreads();
    int at = listed + before - count;
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) at += list.of_warp[w];
      listed += list.of_warp[w];
    }
#pragma unroll
    for (int k = 0; k < kScanned; ++k)
      if (id[k] >= 0) {
        list.rows[at] = static_cast<int>(own + k);
        list.ids[at++] = id[k];
      }
    __syncthreads();
  }
  add_all();
}

}  // namespace

cudaError_t launch(const EmbedCall& c, const Launch& on) {
  if (c.rows == 0) return cudaSuccess;
  return with_type(c.tokens.type, [&]<class Res>(Type<Res>) {
    auto* tokens = static_cast<Res*>(c.tokens.data);
    constexpr int kWide = kTogether<Res>;
    const dim3 block(32, kWarps);
    if (c.dim % kWide == 0 && aligned(tokens, c.table))
      embed_kernel<Res, kWide><<<blocks_for(c.rows, kWarps), block, 0, on.stream>>>(
          tokens, c.ids, c.table, c.rows, c.dim);
    else
      embed_kernel<Res, 1><<<blocks_for(c.rows, kWarps), block, 0, on.stream>>>(
          tokens, c.ids, c.table, c.rows, c.dim);
    return cudaGetLastError();
  });
}

cudaError_t launch(const EmbedBackwardCall& c, const Launch& on) {
  if (c.rows == 0) return cudaSuccess;
  return with_type(c.d_tokens.type, [&]<class Res>(Type<Res>) {
    const std::int64_t parts = (c.dim + kPart - 1) / kPart;
    const std::int64_t blocks =
        std::clamp<std::int64_t>(on.multiprocessors * 4 / parts, 1, c.vocabulary);
    const std::int64_t ids_per_block = (c.vocabulary + blocks - 1) / blocks;
    const dim3 grid(blocks_for(c.vocabulary, ids_per_block), static_cast<unsigned>(parts));
    embed_backward_kernel<<<grid, dim3(32, kWarps), 0, on.stream>>>(
        c.d_table, c.ids, static_cast<const Res*>(c.d_tokens.data), c.rows, c.dim, c.vocabulary,
        ids_per_block);
    return cudaGetLastError();
  });
}

}  // namespace sluice::train::cuda
