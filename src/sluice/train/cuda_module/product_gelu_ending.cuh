// sluice/train/cuda_module/product_gelu_ending.cuh - how products of bf16 by warp groups end in
// GELU (forward, f and y are written) or in its slope (backward): for both forms of the product.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/copy_engine.cuh"
#include "sluice/train/cuda_module/gelu_in_ending.cuh"
#include "sluice/train/cuda_module/launch.h"
#include "sluice/train/cuda_module/wgmma.cuh"

namespace sluice::train::cuda {

// Rows that one product of a warp group has, columns of a block, depth of a row of shared memory.
inline constexpr int kGroupRows = 64, kEndColumns = 128, kDepth = 64, kGroupThreads = 128;
// What the copy engine writes at once: 16 rows of a warp, 64 columns.
inline constexpr int kWarpRows = 16, kPartBytes = kWarpRows * kDepth * 2;
inline constexpr int kSharedMemory = 227 * 1024;

struct Ends {
  CUtensorMap rows, weight, middle, out;  // x or dy; its weight; f; y or df
  const float* scale = nullptr;
  std::int64_t rows_per_scale = 1;
  int count = 0, dim = 0, hidden = 0;  // count: of rows
};

/// What a warp does with its rows of each tile of kGroupRows · kProducts rows: 16 of every 64. They
/// are ended in parts of 64 columns, each with 2 KB of shared memory of its own.
template <bool kBackward, bool kScaled, int kProducts>
struct Ending {
  static constexpr int kParts = 2 * kProducts, kBytes = kParts * kPartBytes;

  const Ends& c;
  unsigned own, brought;  // the parts; barriers: f of a part is there
  int first_row, lane;    // in a tile

  __device__ Ending(const Ends& ends, unsigned parts, unsigned barriers, int warp, int lane_)
      : c(ends),
        own(parts + static_cast<unsigned>(warp * kBytes)),
        brought(barriers + static_cast<unsigned>(warp * kParts * 8)),
        first_row(warp % 4 * kWarpRows),
        lane(lane_) {}

  [[nodiscard]] __device__ int row_of(int row, int part) const {
    return row + part / 2 * kGroupRows + first_row;
  }
  [[nodiscard]] __device__ unsigned place(int part) const {
    return own + static_cast<unsigned>(part * kPartBytes);
  }
  /// One thread: f of a part of the tile at (row, column); a row below 0: there is none.
  __device__ void bring(int row, int column, int part) const {
    if (row < 0) return;
    const unsigned barrier = brought + 8 * static_cast<unsigned>(part);
    announce(barrier, kPartBytes);
    bring_tile(place(part), c.middle, column + part % 2 * kDepth, row_of(row, part), barrier);
  }

  /// Two neighbours in row g (+ 8 for h) and columns 8n + 2t of a part: no two lanes in one bank.
  [[nodiscard]] __device__ unsigned word(unsigned part, int n, int h) const {
    return part + static_cast<unsigned>(RowTiles<kDepth>::offset(lane / 4, n) +
                                        8 * h * RowTiles<kDepth>::kRowBytes + 4 * (lane % 4));
  }

  /// The tile at (row, column), the group's `turn`th. Backward: (next_row, next_column) is what
  /// this group has next; all parts of the first tile were asked for before.
  __device__ void write(const float (&sums)[kProducts][kEndColumns / 8][4], int row, int column,
                        int turn, int next_row, int next_column) const {
    float scale[2] = {1, 1};
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      if constexpr (kScaled)
        for (int h = 0; h < 2; ++h)
          scale[h] =
              c.scale[min(row_of(row, part) + lane / 4 + 8 * h, c.count - 1) / c.rows_per_scale];
      // Forward: f, and y in the part after it. Backward: df takes f's place.
      const int of_f = kBackward ? part : part % kProducts * 2;
      const int of_out = kBackward ? part : of_f + 1;
      if constexpr (kBackward) wait_for(brought + 8 * static_cast<unsigned>(part), turn & 1);
      constexpr int kWords = 16;  // of two values: eight columns after eight, rows g and g + 8
      float v[2 * kWords];
#pragma unroll
      for (int e = 0; e < 2 * kWords; ++e)
        v[e] = sums[part / 2][8 * (part % 2) + e / 4][e % 4];
      if constexpr (kBackward) {
        float slope[2 * kWords];
#pragma unroll
        for (int w = 0; w < kWords; ++w) {
          const float2 f = unpack(load_word(word(place(of_f), w / 2, w % 2)));
          slope[2 * w] = f.x;
          slope[2 * w + 1] = f.y;
        }
        slopes_of_gelu(slope);
#pragma unroll
        for (int e = 0; e < 2 * kWords; ++e)
          v[e] *= slope[e];
      } else {
        unsigned middle[kWords];
#pragma unroll
        for (int w = 0; w < kWords; ++w)
          middle[w] = pack(v[2 * w], v[2 * w + 1]);
        gelus(v);
        if (lane == 0) wait_until_read<kProducts - 1>();
        __syncwarp();
#pragma unroll
        for (int w = 0; w < kWords; ++w)
          store_word(word(place(of_f), w / 2, w % 2), middle[w]);
      }
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        const float by = kScaled ? scale[w % 2] : 1.0F;
        store_word(word(place(of_out), w / 2, w % 2), pack(by * v[2 * w], by * v[2 * w + 1]));
      }
      show_to_products();
      __syncwarp();
      if (lane != 0) continue;
      const int from = column + part % 2 * kDepth;
      if constexpr (!kBackward) write_tile(c.middle, from, row_of(row, part), place(of_f));
      write_tile(c.out, from, row_of(row, part), place(of_out));
      end_tiles();
      if (kBackward && part > 0) {
        wait_until_read<1>();
        bring(next_row, next_column, part - 1);
      }
    }
  }
  /// One thread, before the tile is ended: the last part of f, whose place was still read.
  __device__ void bring_last(int row, int column) const {
    wait_until_read<0>();
    bring(row, column, kParts - 1);
  }

  static __device__ void store_word(unsigned to, unsigned w) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(w) : "memory");
  }
  static __device__ unsigned load_word(unsigned from) {
    unsigned w;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w) : "r"(from) : "memory");
    return w;
  }
};

/// cudaErrorNotSupported: the driver has no such copies.
cudaError_t describe_tiles(CUtensorMap& map, const void* matrix, std::int64_t rows,
                           std::int64_t columns, unsigned tile_rows);

/// A kernel's argument. Forward the weight's rows are the columns of the product, backward its
/// depths.
template <bool kBackward, class Call>
cudaError_t describe_ends(Ends& ends, const Call& call, const void* rows, const void* out) {
  ends.scale = call.branch_scale;
  ends.rows_per_scale = call.rows_per_scale;
  ends.count = static_cast<int>(call.rows);
  ends.dim = static_cast<int>(call.dim);
  ends.hidden = static_cast<int>(call.hidden);
  cudaError_t error = describe_tiles(ends.rows, rows, call.rows, call.dim, kGroupRows);
  if (error == cudaSuccess)
    error = kBackward
                ? describe_tiles(ends.weight, call.weight.data, call.dim, call.hidden, kDepth)
                : describe_tiles(ends.weight, call.weight.data, call.hidden, call.dim, kEndColumns);
  if (error == cudaSuccess)
    error = describe_tiles(ends.middle, call.f.data, call.rows, call.hidden, kWarpRows);
  if (error == cudaSuccess)
    error = describe_tiles(ends.out, out, call.rows, call.hidden, kWarpRows);
  return error;
}

}  // namespace sluice::train::cuda
