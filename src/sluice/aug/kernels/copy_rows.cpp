// sluice/aug/kernels/copy_rows.cpp - rows to other places, compiled once per instruction set.
// Ladder: bench/kernels/flip.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/copy_rows.h"

#include "sluice/aug/kernels/ahead.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/copy_rows.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void copy_line(std::uint8_t* HWY_RESTRICT dst, const std::uint8_t* HWY_RESTRICT src) {
  const hn::CappedTag<std::uint8_t, kLine> d;
  for (std::size_t i = 0; i < kLine; i += hn::Lanes(d))
    hn::StoreU(hn::LoadU(d, src + i), d, dst + i);
}

/// At least a line. The first and the last one overlap those between, which lie as the cache has
/// them.
HWY_INLINE void copy_row(std::uint8_t* HWY_RESTRICT dst, const std::uint8_t* HWY_RESTRICT src,
                         std::size_t bytes, Ahead ahead) {
  copy_line(dst, src);
  std::size_t at = kLine - reinterpret_cast<std::uintptr_t>(dst) % kLine;
  for (; at + kLine <= bytes; at += kLine) {
    ask_to_read(src + at, ahead.src);
    ask_to_write(dst + at, ahead.dst);
    copy_line(dst + at, src + at);
  }
  copy_line(dst + bytes - kLine, src + bytes - kLine);
}

/// Asks for a row's part that is read soon. Where stores need no asking, this is all that helps,
/// and only for parts of longer rows, at whose ends prefetchers lose the track.
HWY_INLINE void ask_for_part(const std::uint8_t* src, std::size_t bytes, std::ptrdiff_t ahead) {
  for (std::size_t at = 0; at < bytes; at += kLine)
    ask_to_read(src + at, ahead);
}

void copy_rows_ahead(const CopyRows& job) {
  constexpr std::size_t kPartsAhead = 6;  // rows
  const bool parts = !kAskBeforeStores && job.src_pitch > static_cast<std::ptrdiff_t>(job.bytes);
  const Ahead ahead = rows_ahead(job.bytes, job.src_pitch, job.dst_pitch);
  std::uint8_t* dst = job.dst;
  const std::uint8_t* src = job.src;
  for (std::size_t y = 0; y < job.rows; ++y, dst += job.dst_pitch, src += job.src_pitch) {
    if (parts && y + kPartsAhead < job.rows)
      ask_for_part(src, job.bytes, static_cast<std::ptrdiff_t>(kPartsAhead) * job.src_pitch);
    if (!kAskBeforeStores || job.bytes < kLine)
      std::memcpy(dst, src, job.bytes);
    else
      copy_row(dst, src, job.bytes, ahead);
  }
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(copy_rows_ahead);

void copy_rows(const CopyRows& job) {
  HWY_DYNAMIC_DISPATCH(copy_rows_ahead)(job);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
