// sluice/aug/kernels/widening-inl.h - 16-bit products summed in 32 bits and rounded back. Compiled
// once per instruction set, inside a kernel file.
// SPDX-License-Identifier: Apache-2.0

#if defined(SLUICE_AUG_WIDENING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_AUG_WIDENING_INL_H
#undef SLUICE_AUG_WIDENING_INL_H
#else
#define SLUICE_AUG_WIDENING_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DS16 = hn::ScalableTag<std::int16_t>;
using DS32 = hn::ScalableTag<std::int32_t>;
using S16 = hn::Vec<DS16>;
using S32 = hn::Vec<DS32>;

/// A vector of 16-bit lanes in 32 bits: the lower and the upper half of each 128-bit block.
struct Wide {
  S32 low, high;
};
HWY_INLINE Wide operator+(const Wide& a, const Wide& b) {
  return {hn::Add(a.low, b.low), hn::Add(a.high, b.high)};
}
HWY_INLINE Wide operator-(const Wide& a, const Wide& b) {
  return {hn::Sub(a.low, b.low), hn::Sub(a.high, b.high)};
}

#if HWY_TARGET == HWY_NEON

template <int kA, int kB>
HWY_INLINE Wide products(S16 a, S16 b) {
  const int16x4_t ka = vdup_n_s16(kA), kb = vdup_n_s16(kB);
  return {S32(vmlal_s16(vmull_s16(vget_low_s16(a.raw), ka), vget_low_s16(b.raw), kb)),
          S32(vmlal_s16(vmull_s16(vget_high_s16(a.raw), ka), vget_high_s16(b.raw), kb))};
}
template <int kA, int kB>
HWY_INLINE Wide add_products(const Wide& sum, S16 a, S16 b) {
  const int16x4_t ka = vdup_n_s16(kA), kb = vdup_n_s16(kB);
  return {
      S32(vmlal_s16(vmlal_s16(sum.low.raw, vget_low_s16(a.raw), ka), vget_low_s16(b.raw), kb)),
      S32(vmlal_s16(vmlal_s16(sum.high.raw, vget_high_s16(a.raw), ka), vget_high_s16(b.raw), kb))};
}
template <int kA>
HWY_INLINE Wide product(S16 a) {
  const int16x4_t ka = vdup_n_s16(kA);
  return {S32(vmull_s16(vget_low_s16(a.raw), ka)), S32(vmull_s16(vget_high_s16(a.raw), ka))};
}
template <int kBits>
HWY_INLINE Wide shifted(S16 a) {
  return {S32(vshll_n_s16(vget_low_s16(a.raw), kBits)),
          S32(vshll_n_s16(vget_high_s16(a.raw), kBits))};
}
template <int kBits>
HWY_INLINE S16 descaled(const Wide& x) {
  if constexpr (kBits <= 16)
    return S16(vcombine_s16(vrshrn_n_s32(x.low.raw, kBits), vrshrn_n_s32(x.high.raw, kBits)));
  else
    return S16(vcombine_s16(vmovn_s32(vrshrq_n_s32(x.low.raw, kBits)),
                            vmovn_s32(vrshrq_n_s32(x.high.raw, kBits))));
}

#else

/// a * kA + b * kB.
template <int kA, int kB>
HWY_INLINE Wide products(S16 a, S16 b) {
  const DS32 d32;
  const DS16 d16;
  const auto k = hn::BitCast(
      d16, hn::Set(d32, static_cast<std::int32_t>((static_cast<std::uint32_t>(kA) & 0xFFFFU) |
                                                  (static_cast<std::uint32_t>(kB) << 16))));
  auto none = hn::Zero(d32);
  // x86 adds the products of neighbours into the first sum
  return {
      hn::ReorderWidenMulAccumulate(d32, hn::InterleaveLower(d16, a, b), k, hn::Zero(d32), none),
      hn::ReorderWidenMulAccumulate(d32, hn::InterleaveUpper(d16, a, b), k, hn::Zero(d32), none)};
}
template <int kA, int kB>
HWY_INLINE Wide add_products(const Wide& sum, S16 a, S16 b) {
  return sum + products<kA, kB>(a, b);
}
template <int kA>
HWY_INLINE Wide product(S16 a) {
  return products<kA, 0>(a, a);
}
/// a * 2^kBits.
template <int kBits>
HWY_INLINE Wide shifted(S16 a) {
  return product<1 << kBits>(a);
}
/// x / 2^kBits, rounded, ties up.
template <int kBits>
HWY_INLINE S16 descaled(const Wide& x) {
  const DS32 d32;
  const auto half = hn::Set(d32, 1 << (kBits - 1));
  return hn::ReorderDemote2To(DS16(), hn::ShiftRight<kBits>(hn::Add(x.low, half)),
                              hn::ShiftRight<kBits>(hn::Add(x.high, half)));
}

#endif

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
