// sluice/aug/kernels/transpose.cpp - rows become columns, compiled once per instruction set.
// Ladder: bench/kernels/flip.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/transpose.h"

#include "sluice/aug/kernels/ahead.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/transpose.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::FixedTag<std::uint8_t, 16>;
using Words = hn::FixedTag<std::uint32_t, 4>;
using LongPairs = hn::FixedTag<std::uint64_t, 2>;

/// Source rows taken together: their lines stay in the first-level cache until every column of
/// them has been used.
constexpr std::size_t kRows = 32, kRowsOfLarge = 64;

/// Of an image that is not in the second-level cache every output row is a page and a line that
/// nothing has asked for.
HWY_INLINE bool is_large(const TransposeJob& job) {
  return kAskBeforeStores && job.width * job.height * job.pixel_bytes > (std::size_t{1} << 20);
}

/// The next columns of a block, and the output rows that they become.
HWY_NOINLINE void ask_for_columns(const TransposeJob& job, std::size_t x, std::size_t y,
                                  std::size_t pixels) {
  constexpr std::size_t kFar = 16;  // output rows
  const std::size_t rows = std::min(kRowsOfLarge, job.height - y);
  const std::size_t at = x * job.pixel_bytes;
  if (at % kLine < pixels * job.pixel_bytes)
    for (std::size_t row = y; row < y + rows; ++row)
      ask_to_read(job.src + static_cast<std::ptrdiff_t>(row) * job.src_pitch + at, 2 * kLine);
  for (std::size_t next = x + kFar; next < x + kFar + pixels && next < job.width; ++next) {
    const std::uint8_t* to =
        job.dst + static_cast<std::ptrdiff_t>(next) * job.dst_pitch + y * job.pixel_bytes;
    for (std::size_t k = 0; k < rows * job.pixel_bytes; k += kLine)
      ask_to_write(to + k);
  }
}

/// A walk down columns is one that no prefetcher follows: while one block of rows is used, the
/// lines of the next are asked for, each when the columns reach it.
template <bool kLarge>
HWY_INLINE void ask_for_next(const TransposeJob& job, std::size_t x, std::size_t y,
                             std::size_t pixels) {
  if constexpr (kLarge) return ask_for_columns(job, x, y, pixels);
  const std::size_t at = x * job.pixel_bytes;
  if (at % kLine >= pixels * job.pixel_bytes) return;
  for (std::size_t next = y + kRows; next < y + 2 * kRows && next < job.height; ++next)
    ask_to_read(job.src + static_cast<std::ptrdiff_t>(next) * job.src_pitch + at);
}

HWY_INLINE std::uint8_t* at(const TransposeJob& job, std::size_t x, std::size_t y) {
  return job.dst + static_cast<std::ptrdiff_t>(x) * job.dst_pitch + y * job.pixel_bytes;
}
HWY_INLINE const std::uint8_t* from(const TransposeJob& job, std::size_t x, std::size_t y) {
  return job.src + static_cast<std::ptrdiff_t>(y) * job.src_pitch + x * job.pixel_bytes;
}

/// Columns [x0, x1) of rows [y0, y1), pixel by pixel.
template <std::size_t kPixel>
void copy_pixels(const TransposeJob& job, std::size_t x0, std::size_t x1, std::size_t y0,
                 std::size_t y1) {
  for (std::size_t x = x0; x < x1; ++x) {
    std::uint8_t* to = at(job, x, y0);
    const std::uint8_t* p = from(job, x, y0);
    for (std::size_t y = y0; y < y1; ++y, to += job.pixel_bytes, p += job.src_pitch)
      std::memcpy(to, p, kPixel == 0 ? job.pixel_bytes : kPixel);
  }
}

/// Pixels of 5 to 16 bytes: 16 are loaded and stored; what is too much belongs to the next pixel,
/// which comes after. [x0, x1) and [y0, y1) end where that would leave the row.
template <std::size_t kPixel, bool kLarge>
void copy_wide(const TransposeJob& job, std::size_t x0, std::size_t x1, std::size_t y0,
               std::size_t y1) {
  const Bytes d;
  for (std::size_t x = x0; x < x1; ++x) {
    ask_for_next<kLarge>(job, x, y0, 1);
    std::uint8_t* to = at(job, x, y0);
    const std::uint8_t* p = from(job, x, y0);
    std::size_t y = y0;
    for (; y + 4 <= y1; y += 4, to += 4 * kPixel, p += 4 * job.src_pitch) {
      const auto a = hn::LoadU(d, p);
      const auto b = hn::LoadU(d, p + job.src_pitch);
      const auto c = hn::LoadU(d, p + 2 * job.src_pitch);
      const auto e = hn::LoadU(d, p + 3 * job.src_pitch);
      hn::StoreU(a, d, to);
      hn::StoreU(b, d, to + kPixel);
      hn::StoreU(c, d, to + 2 * kPixel);
      hn::StoreU(e, d, to + 3 * kPixel);
    }
    for (; y < y1; ++y, to += kPixel, p += job.src_pitch)
      hn::StoreU(hn::LoadU(d, p), d, to);
  }
}

/// Four pixels of 3 or 4 bytes from each of four rows: 32 bits per pixel, a 4 x 4 transpose, and
/// back to 12 bytes. Steps as above: x in fours, y in fours.
template <std::size_t kPixel, bool kLarge>
void copy_fours(const TransposeJob& job, std::size_t x0, std::size_t x1, std::size_t y0,
                std::size_t y1) {
  const Bytes d;
  const Words d32;
  const LongPairs d64;
  alignas(16) static constexpr std::uint8_t kSpread[16] = {0, 1, 2, 0, 3, 4,  5,  0,
                                                           6, 7, 8, 0, 9, 10, 11, 0};
  alignas(16) static constexpr std::uint8_t kPack[16] = {0,  1,  2,  4,  5, 6, 8, 9,
                                                         10, 12, 13, 14, 0, 0, 0, 0};
  const auto spread = hn::Load(d, kSpread);
  const auto pack = hn::Load(d, kPack);
  const auto load = [&](const std::uint8_t* p) HWY_ATTR {
    const auto bytes = hn::LoadU(d, p);
    return hn::BitCast(d32, kPixel == 3 ? hn::TableLookupBytes(bytes, spread) : bytes);
  };
  const auto store = [&](auto four, std::uint8_t* to) HWY_ATTR {
    const auto bytes = hn::BitCast(d, four);
    hn::StoreU(kPixel == 3 ? hn::TableLookupBytes(bytes, pack) : bytes, d, to);
  };
  for (std::size_t x = x0; x < x1; x += 4) {
    ask_for_next<kLarge>(job, x, y0, 4);
    const std::uint8_t* p = from(job, x, y0);
    std::uint8_t* to = at(job, x, y0);
    for (std::size_t y = y0; y < y1; y += 4, p += 4 * job.src_pitch, to += 4 * kPixel) {
      const auto r0 = load(p);
      const auto r1 = load(p + job.src_pitch);
      const auto r2 = load(p + 2 * job.src_pitch);
      const auto r3 = load(p + 3 * job.src_pitch);
      const auto a0 = hn::BitCast(d64, hn::InterleaveLower(d32, r0, r1));
      const auto a1 = hn::BitCast(d64, hn::InterleaveLower(d32, r2, r3));
      const auto b0 = hn::BitCast(d64, hn::InterleaveUpper(d32, r0, r1));
      const auto b1 = hn::BitCast(d64, hn::InterleaveUpper(d32, r2, r3));
      store(hn::InterleaveLower(d64, a0, a1), to);
      store(hn::InterleaveUpper(d64, a0, a1), to + job.dst_pitch);
      store(hn::InterleaveLower(d64, b0, b1), to + 2 * job.dst_pitch);
      store(hn::InterleaveUpper(d64, b0, b1), to + 3 * job.dst_pitch);
    }
  }
}

/// The end of the pixels from `begin` that steps of `step` pixels reach while 16 bytes from a
/// step's first pixel stay inside a row of `count` pixels.
template <std::size_t kPixel>
HWY_INLINE std::size_t safe_end(std::size_t begin, std::size_t end, std::size_t count,
                                std::size_t step) {
  if (count * kPixel < begin * kPixel + 16) return begin;
  const std::size_t last = (count * kPixel - 16) / kPixel;
  return begin + step * std::min((end - begin) / step, (last - begin) / step + 1);
}

template <std::size_t kPixel, bool kLarge>
void transpose_blocks(const TransposeJob& job) {
  constexpr std::size_t kStep = kPixel == 3 || kPixel == 4 ? 4 : 1;
  constexpr std::size_t kTogether = kLarge ? kRowsOfLarge : kRows;
  for (std::size_t y = 0; y < job.height; y += kTogether) {
    const std::size_t end = std::min(y + kTogether, job.height);
    if constexpr (kPixel < 3 || kPixel > 16) {
      copy_pixels<kPixel <= 16 ? kPixel : 0>(job, 0, job.width, y, end);
    } else {
      const std::size_t x1 = safe_end<kPixel>(0, job.width, job.width, kStep);
      const std::size_t y1 = safe_end<kPixel>(y, end, job.height, kStep);
      if constexpr (kStep == 4)
        copy_fours<kPixel, kLarge>(job, 0, x1, y, y1);
      else
        copy_wide<kPixel, kLarge>(job, 0, x1, y, y1);
      copy_pixels<kPixel>(job, 0, x1, y1, end);
      copy_pixels<kPixel>(job, x1, job.width, y, end);
    }
  }
}

template <std::size_t kPixel>
void transpose_by(const TransposeJob& job) {
  if (is_large(job))
    transpose_blocks<kPixel, true>(job);
  else
    transpose_blocks<kPixel, false>(job);
}

void transpose_any(const TransposeJob& job) {
  static constexpr void (*kBySize[])(const TransposeJob&) = {
      transpose_by<1>,  transpose_by<2>,  transpose_by<3>,  transpose_by<4>,
      transpose_by<5>,  transpose_by<6>,  transpose_by<7>,  transpose_by<8>,
      transpose_by<9>,  transpose_by<10>, transpose_by<11>, transpose_by<12>,
      transpose_by<13>, transpose_by<14>, transpose_by<15>, transpose_by<16>};
  if (job.pixel_bytes <= 16)
    kBySize[job.pixel_bytes - 1](job);
  else
    transpose_by<17>(job);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(transpose_any);

void transpose(const TransposeJob& job) {
  HWY_DYNAMIC_DISPATCH(transpose_any)(job);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
