// sluice/aug/kernels/row-inl.h - a row in whole vectors, its rest through a buffer.
// SPDX-License-Identifier: Apache-2.0
//
// Included once per instruction set, after hwy/highway.h.
#if defined(SLUICE_AUG_KERNELS_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_AUG_KERNELS_ROW_INL_H_
#undef SLUICE_AUG_KERNELS_ROW_INL_H_
#else
#define SLUICE_AUG_KERNELS_ROW_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// step(to, from, i) makes `lanes` samples, those from i on; what is beyond the row is discarded.
/// dst may be src. Side arrays indexed by i need `lanes` readable values behind the row.
template <class T, class Step>
HWY_INLINE void each_vector(T* dst, const T* src, std::size_t count, std::size_t lanes, Step step) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    step(dst + i, src + i, i);
  if (i == count) return;
  HWY_ALIGN T in[4 * HWY_MAX_BYTES / sizeof(T)] = {};
  HWY_ALIGN T out[4 * HWY_MAX_BYTES / sizeof(T)];
  std::memcpy(in, src + i, (count - i) * sizeof(T));
  step(out, in, i);
  std::memcpy(dst + i, out, (count - i) * sizeof(T));
}

/// Sixteen-bit halves of a vector of bytes, in order.
template <class V8, class D16 = hn::ScalableTag<std::int16_t>>
HWY_INLINE hn::Vec<D16> lower_i16(V8 v) {
  const hn::Half<hn::ScalableTag<std::uint8_t>> half;
  return hn::PromoteTo(D16(), hn::LowerHalf(half, v));
}
template <class V8, class D16 = hn::ScalableTag<std::int16_t>>
HWY_INLINE hn::Vec<D16> upper_i16(V8 v) {
  const hn::Half<hn::ScalableTag<std::uint8_t>> half;
  return hn::PromoteTo(D16(), hn::UpperHalf(half, v));
}
/// Both halves back to bytes, saturated.
template <class V16>
HWY_INLINE hn::Vec<hn::ScalableTag<std::uint8_t>> join_u8(V16 low, V16 high) {
  const hn::ScalableTag<std::uint8_t> d;
  const hn::Half<decltype(d)> half;
  return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
