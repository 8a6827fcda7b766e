// sluice/aug/kernels/filter-inl.h - what the filters share: walking a row, mirrored margins.
// SPDX-License-Identifier: Apache-2.0
//
// Included by kernel files once per instruction set, behind highway.h.
#if defined(SLUICE_AUG_KERNELS_FILTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_AUG_KERNELS_FILTER_INL_H_
#undef SLUICE_AUG_KERNELS_FILTER_INL_H_
#else
#define SLUICE_AUG_KERNELS_FILTER_INL_H_
#endif

#include "sluice/aug/border.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// step(i) handles samples i to i + lanes; the last step overlaps the one before. Rows shorter than
/// `lanes` have room behind them (staged.h).
template <class Step>
HWY_INLINE void for_vectors(std::size_t count, std::size_t lanes, Step step) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    step(i);
  if (i < count) step(count >= lanes ? count - lanes : 0);
}

/// Fills `radius` pixels on both sides of a row of `width` pixels by mirroring (reflect_101).
template <class T>
HWY_INLINE void mirror_margins(T* row, int width, int channels, int radius) {
  const auto bytes = sizeof(T) * static_cast<std::size_t>(channels);
  const auto pixel = [&](int x) { return row + std::ptrdiff_t{x} * channels; };
  for (int k = 1; k <= radius; ++k) {
    std::memcpy(pixel(-k), pixel(reflect_101(-k, width)), bytes);
    std::memcpy(pixel(width - 1 + k), pixel(reflect_101(width - 1 + k, width)), bytes);
  }
}

/// The rows y - radius to y + radius, mirrored at the top and bottom.
template <int kRadius, class View>
struct RowWindow {
  using Value = typename View::Value;
  const Value* row[2 * kRadius + 1];
  RowWindow(const View& src, int y) {
    for (int k = -kRadius; k <= kRadius; ++k)
      row[k + kRadius] = src.row(reflect_101(y + k, src.height()));
  }
  const Value* operator()(int k) const { return row[k + kRadius]; }
};

/// Vectors of 8-bit samples become pairs of vectors with 16-bit lanes.
using D8 = hn::ScalableTag<std::uint8_t>;
using D8Half = hn::Half<D8>;
using D16 = hn::ScalableTag<std::uint16_t>;
using DI16 = hn::ScalableTag<std::int16_t>;
using V16 = hn::Vec<D16>;
using VI16 = hn::Vec<DI16>;
struct Pair {
  V16 low, high;
};
struct SignedPair {
  VI16 low, high;
};

HWY_INLINE Pair widen(hn::Vec<D8> v) {
  return {hn::PromoteTo(D16(), hn::LowerHalf(D8Half(), v)),
          hn::PromoteTo(D16(), hn::UpperHalf(D8Half(), v))};
}
HWY_INLINE Pair load_pair(const std::uint8_t* p) {
  return widen(hn::LoadU(D8(), p));
}
HWY_INLINE SignedPair load_pair(const std::int16_t* p) {
  return {hn::LoadU(DI16(), p), hn::LoadU(DI16(), p + hn::Lanes(DI16()))};
}
HWY_INLINE Pair load_pair(const std::uint16_t* p) {
  return {hn::LoadU(D16(), p), hn::LoadU(D16(), p + hn::Lanes(D16()))};
}
HWY_INLINE void store_pair(Pair v, std::uint16_t* p) {
  hn::StoreU(v.low, D16(), p);
  hn::StoreU(v.high, D16(), p + hn::Lanes(D16()));
}
HWY_INLINE Pair add(Pair a, Pair b) {
  return {hn::Add(a.low, b.low), hn::Add(a.high, b.high)};
}
HWY_INLINE SignedPair as_signed(Pair v) {
  return {hn::BitCast(DI16(), v.low), hn::BitCast(DI16(), v.high)};
}
/// Clamped to 0 .. 255.
HWY_INLINE hn::Vec<D8> narrow(SignedPair v) {
  return hn::Combine(D8(), hn::DemoteTo(D8Half(), v.high), hn::DemoteTo(D8Half(), v.low));
}

/// v / 2^kShift, rounded half up and clamped to 0 .. 255.
template <int kShift>
HWY_INLINE hn::Vec<D8> narrow_rounded(SignedPair v) {
#if HWY_TARGET == HWY_NEON
  return hn::Vec<D8>(
      vcombine_u8(vqrshrun_n_s16(v.low.raw, kShift), vqrshrun_n_s16(v.high.raw, kShift)));
#else
  const auto half = hn::Set(DI16(), 1 << (kShift - 1));
  return narrow({hn::ShiftRight<kShift>(hn::Add(v.low, half)),
                 hn::ShiftRight<kShift>(hn::Add(v.high, half))});
#endif
}

/// x + v / 2^kShift, the quotient rounded half up.
template <int kShift>
HWY_INLINE VI16 add_rounded(VI16 x, VI16 v) {
#if HWY_TARGET == HWY_NEON
  return VI16(vrsraq_n_s16(x.raw, v.raw, kShift));
#else
  return hn::Add(x, hn::ShiftRight<kShift>(hn::Add(v, hn::Set(DI16(), 1 << (kShift - 1)))));
#endif
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
