// sluice/aug/kernels/map_ahead-inl.h - bytes to bytes, one by one, at the speed of memory on
// x86-64. Ladder: bench/kernels/pointwise.md.
// SPDX-License-Identifier: Apache-2.0
//
// Included once per instruction set, after hwy/highway.h.
#if defined(SLUICE_AUG_KERNELS_MAP_AHEAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_AUG_KERNELS_MAP_AHEAD_INL_H_
#undef SLUICE_AUG_KERNELS_MAP_AHEAD_INL_H_
#else
#define SLUICE_AUG_KERNELS_MAP_AHEAD_INL_H_
#endif

#include "sluice/aug/kernels/ahead.h"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Outputs from this size on, in bytes, go past the caches: whoever reads them next would not find
/// them there anyway, and a line that is written whole need not be read first.
inline constexpr std::size_t kPastCaches = std::size_t{4} << 20;

template <bool kStream, class Op>
HWY_INLINE std::size_t map_lines(std::uint8_t* dst, const std::uint8_t* src, std::size_t at,
                                 std::size_t count, Op op) {
  constexpr std::size_t kLines = 4;
  constexpr std::ptrdiff_t kFar = kStream ? 2048 : 1024;  // bytes
  const hn::CappedTag<std::uint8_t, kLine> d;
  constexpr std::size_t kLanes = HWY_MIN(HWY_MAX_BYTES, kLine), kTogether = 4;
  for (; at + kLines * kLine <= count; at += kLines * kLine) {
    for (std::size_t line = at; line < at + kLines * kLine; line += kLine) {
      ask_to_read(src + line, kFar);
      if (!kStream) ask_to_write(dst + line, kFar);
    }
    for (std::size_t from = at; from < at + kLines * kLine; from += kTogether * kLanes) {
      hn::Vec<decltype(d)> results[kTogether];  // before their stores
      for (std::size_t k = 0; k < kTogether; ++k)
        results[k] = op(hn::LoadU(d, src + from + k * kLanes));
      for (std::size_t k = 0; k < kTogether; ++k)
        if constexpr (kStream)
          hn::Stream(results[k], d, dst + from + k * kLanes);
        else
          hn::StoreU(results[k], d, dst + from + k * kLanes);
    }
  }
  return at;
}

/// dst[i] = op(src[i]) for i below what it returns, which is less than four lines short of `count`.
/// In place, or no overlap.
template <class Op>
HWY_INLINE std::size_t map_ahead(std::uint8_t* dst, const std::uint8_t* src, std::size_t count,
                                 Op op) {
  if (count < kPastCaches || dst == src) return map_lines<false>(dst, src, 0, count, op);
  const hn::CappedTag<std::uint8_t, kLine> d;
  for (std::size_t k = 0; k < kLine; k += hn::Lanes(d))
    hn::StoreU(op(hn::LoadU(d, src + k)), d, dst + k);
  const std::size_t first = kLine - reinterpret_cast<std::uintptr_t>(dst) % kLine;
  const std::size_t end = map_lines<true>(dst, src, first, count, op);
  hwy::FlushStream();
  return end;
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
