// sluice/aug/kernels/mirror.cpp - a row of pixels, last pixel first, compiled once per instruction
// set. Ladder: bench/kernels/flip.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/mirror.h"

#include "sluice/aug/kernels/ahead.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/mirror.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::FixedTag<std::uint8_t, 16>;

/// As many pixels as fit into 16 bytes are one load, one shuffle, one store. The source is read
/// forwards, which prefetchers follow; what a store leaves before its pixels belongs to the next
/// ones, which come after.
template <std::size_t kPixel>
void mirror_row(std::uint8_t* HWY_RESTRICT dst, const std::uint8_t* HWY_RESTRICT src,
                std::size_t pixels, Ahead ahead) {
  constexpr std::size_t kCount = 16 / kPixel;
  constexpr std::size_t kUsed = kCount * kPixel;
  constexpr std::size_t kRest = 16 - kUsed;
  const std::size_t row = pixels * kPixel;
  if (row < 16) {
    for (std::size_t x = 0; x < pixels; ++x)
      std::memcpy(dst + x * kPixel, src + row - (x + 1) * kPixel, kPixel);
    return;
  }
  const Bytes d;
  alignas(16) std::uint8_t first[16] = {}, last[16] = {};
  for (std::size_t i = 0; i < kUsed; ++i) {
    const std::size_t from = (kCount - 1 - i / kPixel) * kPixel + i % kPixel;
    first[kRest + i] = static_cast<std::uint8_t>(from);
    last[i] = static_cast<std::uint8_t>(kRest + from);
  }
  const auto indices = hn::Load(d, first);
  std::uint8_t* const end = dst + row - 16;
  const auto step = [=](std::size_t at) HWY_ATTR {
    hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, src + at), indices), d, end - at);
  };
  std::size_t at = 0;
  for (; at + 3 * kUsed + 16 <= row; at += 4 * kUsed) {
    if constexpr (kAskBeforeStores) {
      ask_to_read(src + at, ahead.src);
      ask_to_write(end - at, ahead.dst);
    }
    step(at);
    step(at + kUsed);
    step(at + 2 * kUsed);
    step(at + 3 * kUsed);
  }
  for (; at + 16 <= row; at += kUsed)
    step(at);
  // The last pixels: a load that ends with the row, a store of no byte too many.
  alignas(16) std::uint8_t begin[16];
  hn::Store(hn::TableLookupBytes(hn::LoadU(d, src + row - 16), hn::Load(d, last)), d, begin);
  std::memcpy(dst, begin, kUsed);
}

/// Pixels of more than 16 bytes: 16 at a time, the last piece overlapping the one before.
void mirror_row_wide(std::uint8_t* HWY_RESTRICT dst, const std::uint8_t* HWY_RESTRICT src,
                     std::size_t pixels, std::size_t pixel) {
  const Bytes d;
  for (std::size_t x = 0; x < pixels; ++x) {
    std::uint8_t* to = dst + x * pixel;
    const std::uint8_t* from = src + (pixels - 1 - x) * pixel;
    for (std::size_t i = 0; i + 16 < pixel; i += 16)
      hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    hn::StoreU(hn::LoadU(d, from + pixel - 16), d, to + pixel - 16);
  }
}

template <std::size_t kPixel>
void mirror_rows(const MirrorRows& job) {
  std::uint8_t* dst = job.dst;
  const std::uint8_t* src = job.src;
  const Ahead ahead = rows_ahead(job.pixels * job.pixel_bytes, job.src_pitch, job.dst_pitch);
  for (std::size_t y = 0; y < job.rows; ++y, dst += job.dst_pitch, src += job.src_pitch) {
    if constexpr (kPixel > 16)
      mirror_row_wide(dst, src, job.pixels, job.pixel_bytes);
    else
      mirror_row<kPixel>(dst, src, job.pixels, ahead);
  }
}

void mirror_any(const MirrorRows& job) {
  static constexpr void (*kBySize[])(const MirrorRows&) = {
      mirror_rows<1>,  mirror_rows<2>,  mirror_rows<3>,  mirror_rows<4>,
      mirror_rows<5>,  mirror_rows<6>,  mirror_rows<7>,  mirror_rows<8>,
      mirror_rows<9>,  mirror_rows<10>, mirror_rows<11>, mirror_rows<12>,
      mirror_rows<13>, mirror_rows<14>, mirror_rows<15>, mirror_rows<16>};
  if (job.pixel_bytes <= 16)
    kBySize[job.pixel_bytes - 1](job);
  else
    mirror_rows<17>(job);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(mirror_any);

void mirror(const MirrorRows& job) {
  HWY_DYNAMIC_DISPATCH(mirror_any)(job);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
