// sluice/train/cuda_module/wgmma.cuh - products of a warp group on the tensor cores of sm_90a: 64
// rows at a time, the right factor (and perhaps the left) straight from shared memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/mma.cuh"

#include <cstdint>

namespace sluice::train::cuda {

/// Rows of 64 bf16 in shared memory, the tiles of RowTiles<64>: that is the swizzle of 128 bytes.
/// `address` (of the shared space) is of a row whose number is a multiple of 8, tiles begin at
/// multiples of 1024 bytes. As rows x channels, step s (channels 16s and on) is + 2s; as its
/// transpose, 16 rows further is + 128.
__device__ inline std::uint64_t row_tiles(unsigned address) {
  constexpr std::uint64_t kEightRows = 1024 >> 4, kSwizzle128 = 1;
  return static_cast<std::uint64_t>((address & 0x3FFFFU) >> 4) | std::uint64_t{1} << 16 |
         kEightRows << 32 | kSwizzle128 << 62;
}
/// By rows and more than 64 channels: the next 64 begin `stride` bytes further.
__device__ inline std::uint64_t row_tiles(unsigned address, unsigned stride) {
  return (row_tiles(address) & ~(std::uint64_t{0x3FFF} << 16)) | std::uint64_t{stride >> 4} << 16;
}

/// Before the first product that reads registers or shared memory written by this thread; writes to
/// shared memory are made visible to products by show_to_products(), and a barrier after it.
__device__ inline void before_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void show_to_products() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// After the last product: none of its registers is touched before wait_for_products() and settle().
__device__ inline void wait_for_products() {
  asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
}
/// The same in two steps: what was asked for becomes a group; waits until at most kLeft of the last
/// groups are under way.
__device__ inline void end_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kLeft>
__device__ inline void wait_for_groups() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
/// Ties values to this place: the compiler moves no use of them before it.
template <int kCount>
__device__ inline void settle(float (&d)[kCount][4]) {
#pragma unroll
  for (auto& four : d)
    asm volatile("" : "+f"(four[0]), "+f"(four[1]), "+f"(four[2]), "+f"(four[3])::"memory");
}
template <int kCount>
__device__ inline void settle(unsigned (&a)[kCount][4]) {
#pragma unroll
  for (auto& four : a)
    asm volatile("" : "+r"(four[0]), "+r"(four[1]), "+r"(four[2]), "+r"(four[3])::"memory");
}

// d (64 x 8·count; a warp has 16 of the rows, in the layout of mma()) = or += a · b; `adds` 0: =.
// b: row_tiles() as its transpose (columns are rows of the tiles) or, _by_rows, as it is. a: the
// warp's 16 rows in registers, or 64 rows in shared memory; _both_by_rows: 64 columns of tiles.
#define SLUICE_FOUR(d, i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
#define SLUICE_EIGHT(d, i) SLUICE_FOUR(d, i), SLUICE_FOUR(d, i + 1)
#define SLUICE_SIXTEEN(d, i) SLUICE_EIGHT(d, i), SLUICE_EIGHT(d, i + 2)
// clang-format off: lists of registers
__device__ inline void multiply_wide(float (&d)[26][4], const unsigned (&a)[4], std::uint64_t b, int adds) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %109, 0; wgmma.mma_async.sync.aligned.m64n208k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103}, {%104, %105, %106, %107}, %108, p, 1, 1, 0;}"
      : SLUICE_SIXTEEN(d, 0), SLUICE_SIXTEEN(d, 4), SLUICE_SIXTEEN(d, 8), SLUICE_SIXTEEN(d, 12), SLUICE_SIXTEEN(d, 16), SLUICE_SIXTEEN(d, 20), SLUICE_EIGHT(d, 24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
/// kByRows: b as it is.
template <bool kByRows>
__device__ inline void multiply_widest(float (&d)[16][4], std::uint64_t a, std::uint64_t b, int adds) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1, 0, %67;}"
      : SLUICE_SIXTEEN(d, 0), SLUICE_SIXTEEN(d, 4), SLUICE_SIXTEEN(d, 8), SLUICE_SIXTEEN(d, 12)
      : "l"(a), "l"(b), "r"(adds), "n"(kByRows ? 1 : 0));
}
__device__ inline void multiply_wide(float (&d)[8][4], std::uint64_t a, std::uint64_t b, int adds) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;}"
      : SLUICE_SIXTEEN(d, 0), SLUICE_SIXTEEN(d, 4)
      : "l"(a), "l"(b), "r"(adds));
}
__device__ inline void multiply_wide(float (&d)[6][4], std::uint64_t a, std::uint64_t b, int adds) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %26, 0; wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23}, %24, %25, p, 1, 1, 0, 0;}"
      : SLUICE_SIXTEEN(d, 0), SLUICE_EIGHT(d, 4)
      : "l"(a), "l"(b), "r"(adds));
}
__device__ inline void multiply_wide_by_rows(float (&d)[8][4], const unsigned (&a)[4], std::uint64_t b, int adds) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;}"
      : SLUICE_SIXTEEN(d, 0), SLUICE_SIXTEEN(d, 4)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
__device__ inline void multiply_wide_both_by_rows(float (&d)[8][4], std::uint64_t a, std::uint64_t b, int adds) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 1, 1;}"
      : SLUICE_SIXTEEN(d, 0), SLUICE_SIXTEEN(d, 4)
      : "l"(a), "l"(b), "r"(adds));
}
// clang-format on
#undef SLUICE_SIXTEEN
#undef SLUICE_EIGHT
#undef SLUICE_FOUR

}  // namespace sluice::train::cuda
