// sluice/train/cuda_module/mma.cuh - products of 16 x 16 tiles of bf16 on tensor cores (sm_80 and
// later), and tiles of rows in shared memory that they are read from without bank conflicts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>

namespace sluice::train::cuda {

/// Two bf16 in a register, `low` at the lower address.
__device__ inline unsigned pack(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&both);
}
__device__ inline float2 unpack(unsigned both) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&both));
}

/// 2^x to about 2⁻²² of itself; 0 for -infinity.
__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// d += a·b. With g = lane / 4 and t = lane % 4: d (16 x 8) holds (g, 2t), (g, 2t + 1), (g + 8,
/// 2t), (g + 8, 2t + 1); a (16 x 16) pairs of columns at (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8,
/// 2t + 8); b (16 x 8) pairs of rows at (2t, g), (2t + 8, g). So two d side by side, packed, are an
/// a.
__device__ inline void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Four 8 x 8 tiles, the rows of tile i at the addresses of lanes 8i to 8i + 7. A lane gets the
/// pair (g, 2t), (g, 2t + 1) of each; transposed (2t, g), (2t + 1, g).
__device__ inline void load_tiles(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ inline void load_tiles_transposed(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

/// What is read for the last time may leave the second-level cache first.
__device__ inline unsigned long long for_the_last_time() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
/// 16 bytes from global to shared memory, later; zeros where they are not there. What a thread
/// copied it sees after wait_for_copies(), others after a barrier too.
__device__ inline void copy_later(unsigned to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(there ? 16 : 0)
               : "memory");
}
__device__ inline void copy_later(unsigned to, const void* from, bool there,
                                  unsigned long long policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(to),
               "l"(from), "r"(there ? 16 : 0), "l"(policy)
               : "memory");
}
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
__device__ inline void copy_word_later(unsigned to, const void* from, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from),
               "r"(there ? 4 : 0)
               : "memory");
}
/// 16 bytes that no one writes in this kernel, nor reads again: tables keep their place in the
/// caches. Asked for here: the compiler does not put it off behind a wait.
__device__ inline uint4 load_once(const void* from) {
  uint4 v;
  asm volatile(
      "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(from), "l"(for_the_last_time()));
  return v;
}
/// 16 bytes of a table, likewise.
__device__ inline uint4 load_now(const void* from) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}
__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// Rows of kDim bf16 in shared memory. Their 16-byte chunks are exchanged so that eight rows at one
/// chunk lie in different banks. All addresses are of the shared space; a tile of 16 rows begins at
/// a multiple of 16 rows.
template <int kDim>
struct RowTiles {
  static constexpr int kChunks = kDim / 8, kRowBytes = kDim * 2, kTileBytes = 16 * kRowBytes;
  static constexpr int kRowsPerLine = kChunks < 8 ? 8 / kChunks : 1;
  static constexpr int kMask = kChunks < 8 ? kChunks - 1 : 7;

  __host__ __device__ static constexpr int offset(int row, int chunk) {
    return row * kRowBytes + ((chunk ^ ((row / kRowsPerLine) & kMask)) << 4);
  }
  /// A lane's part of the address for the 16 rows as a (row, column = channel) or, transposed, as
  /// two b (row = row, column = channel). Step s, channels 16s to 16s + 15: ^ 32s.
  __host__ __device__ static constexpr int lane_by_rows(int lane) {
    return offset(lane & 15, lane >> 4);
  }
  /// As two b whose columns are the rows of the tile (8 and 8) and whose rows are its channels.
  __host__ __device__ static constexpr int lane_by_columns(int lane) {
    return offset((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
  }
};

/// a of all steps of one tile.
template <int kDim>
__device__ inline void load_operand(unsigned (&a)[kDim / 16][4], unsigned tile, int lane_by_rows) {
#pragma unroll
  for (int step = 0; step < kDim / 16; ++step)
    load_tiles(a[step], tile + static_cast<unsigned>(lane_by_rows ^ (step * 32)));
}

/// d (16 x 16) += a · tileᵀ over all channels, for kM operands at once.
template <int kDim, int kM>
__device__ inline void multiply_by_transposed(float (&d)[kM][2][4],
                                              const unsigned (&a)[kM][kDim / 16][4], unsigned tile,
                                              int lane_by_columns) {
#pragma unroll
  for (int step = 0; step < kDim / 16; ++step) {
    unsigned b[4];
    load_tiles(b, tile + static_cast<unsigned>(lane_by_columns ^ (step * 32)));
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      mma(d[m][0], a[m][step], b[0], b[1]);
      mma(d[m][1], a[m][step], b[2], b[3]);
    }
  }
}

/// d (16 x kDim) += a (16 x 16) · tile, for kM operands at once.
template <int kDim, int kM>
__device__ inline void multiply_by(float (&d)[kM][kDim / 8][4], const unsigned (&a)[kM][4],
                                   unsigned tile, int lane_by_rows) {
#pragma unroll
  for (int step = 0; step < kDim / 16; ++step) {
    unsigned b[4];
    load_tiles_transposed(b, tile + static_cast<unsigned>(lane_by_rows ^ (step * 32)));
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      mma(d[m][2 * step], a[m], b[0], b[1]);
      mma(d[m][2 * step + 1], a[m], b[2], b[3]);
    }
  }
}

}  // namespace sluice::train::cuda
