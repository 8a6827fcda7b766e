// sluice/aug/kernels/colour_hsv-inl.h - 8-bit RGB to HSV and back, a vector of pixels at a time in
// registers. Part of colour_steps.cpp, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
//
// Quotients are floats. Conversions between integers and floats are slow on NEON, so they are done
// by bits: a 16-bit n below 0x4B00 in 32 bits is the float 2^23 + n, and adding 1.5 * 2^23 to a
// float rounds it and leaves the integer in the low 16 bits. Roundings have room to spare: a float
// is never so close to the border of two integers that its own error decides.

#if defined(SLUICE_AUG_COLOUR_HSV_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_AUG_COLOUR_HSV_INL_H
#undef SLUICE_AUG_COLOUR_HSV_INL_H
#else
#define SLUICE_AUG_COLOUR_HSV_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::ScalableTag<std::uint8_t>;
using D16 = hn::ScalableTag<std::uint16_t>;
using DI16 = hn::ScalableTag<std::int16_t>;
using DF = hn::ScalableTag<float>;
using V8 = hn::Vec<D8>;
using V16 = hn::Vec<D16>;
using VI16 = hn::Vec<DI16>;
using VF = hn::Vec<DF>;

// Widening interleaves within 128-bit blocks, narrowing packs within them: together they keep the
// order, whatever the length of a vector.
HWY_INLINE V16 lower(V8 v) {
  return hn::BitCast(D16(), hn::InterleaveLower(D8(), v, hn::Zero(D8())));
}
HWY_INLINE V16 upper(V8 v) {
  return hn::BitCast(D16(), hn::InterleaveUpper(D8(), v, hn::Zero(D8())));
}
/// The even lanes of T of each block of `low`, then those of `high`.
template <class T, class V>
HWY_INLINE V even_lanes(V low, V high) {
#if HWY_TARGET == HWY_NEON
  const hn::ScalableTag<T> d;
  return hn::BitCast(hn::DFromV<V>(), hn::ConcatEven(d, hn::BitCast(d, high), hn::BitCast(d, low)));
#else
  const D8 d;
  HWY_ALIGN static constexpr std::uint8_t kBytes[16] = {0, 2, 4, 6, 8, 10, 12, 14};
  HWY_ALIGN static constexpr std::uint8_t kPairs[16] = {0, 1, 4, 5, 8, 9, 12, 13};
  const hn::ScalableTag<std::uint64_t> d64;
  const auto index = hn::LoadDup128(d, sizeof(T) == 1 ? kBytes : kPairs);
  const auto first = [&](V v) HWY_ATTR {
    return hn::BitCast(d64, hn::TableLookupBytes(hn::BitCast(d, v), index));
  };
  return hn::BitCast(hn::DFromV<V>(), hn::InterleaveLower(d64, first(low), first(high)));
#endif
}
HWY_INLINE V8 low_bytes(V16 low, V16 high) {
  return hn::BitCast(D8(), even_lanes<std::uint8_t>(low, high));
}

// As the upper half of 32 bits: 2^23 in a float.
constexpr std::uint16_t kFloatBits = 0x4B00;
constexpr float kTwo23 = 8388608.0F;

/// n - bias.
HWY_INLINE VF lower_float(V16 n, float bias = 0) {
  const auto wide = hn::InterleaveLower(D16(), n, hn::Set(D16(), kFloatBits));
  return hn::Sub(hn::BitCast(DF(), wide), hn::Set(DF(), kTwo23 + bias));
}
HWY_INLINE VF upper_float(V16 n, float bias = 0) {
  const auto wide = hn::InterleaveUpper(D16(), n, hn::Set(D16(), kFloatBits));
  return hn::Sub(hn::BitCast(DF(), wide), hn::Set(DF(), kTwo23 + bias));
}
/// To the nearest integers; 0 to 65535.
HWY_INLINE V16 rounded(VF low, VF high) {
  const auto magic = hn::Set(DF(), 1.5F * kTwo23);
  const auto bits = even_lanes<std::uint16_t>(hn::Add(low, magic), hn::Add(high, magic));
  return hn::BitCast(D16(), bits);
}

/// 1 / x to a few units in the last place, on every machine.
HWY_INLINE VF reciprocal(VF x) {
  auto r = hn::ApproximateReciprocal(x);  // 8 bits at least; each step doubles them
#if HWY_TARGET == HWY_NEON
  r = hn::Mul(r, VF(vrecpsq_f32(x.raw, r.raw)));
  return hn::Mul(r, VF(vrecpsq_f32(x.raw, r.raw)));
#else
  const auto two = hn::Set(DF(), 2.0F);
  r = hn::Mul(r, hn::NegMulAdd(x, r, two));
  return hn::Mul(r, hn::NegMulAdd(x, r, two));
#endif
}

/// hue: 30 + turn * hdiv, to be rounded to the nearest, ties up; hdiv is 30 / range, rounded to
/// 1/4096. saturation: 255 * range / value, to be rounded, ties up. 30 and 0 where range is 0.
HWY_INLINE void hue_and_saturation(VF& hue, VF& saturation, VF value, VF range, VF turn) {
  const DF d;
  const auto r = reciprocal(hn::Max(hn::Mul(value, range), hn::Set(d, 1.0F)));
  // the last place of 3072 is 1/4096: adding and subtracting it rounds
  const auto magic = hn::Set(d, 3072.0F);
  const auto hdiv = hn::Sub(hn::MulAdd(hn::Mul(value, r), hn::Set(d, 30.0F), magic), magic);
  hue = hn::MulAdd(turn, hdiv, hn::Set(d, 30.0F + 1.0F / 8192));  // half a place makes ties go up
  // a tie lies 1/510 from its neighbours
  saturation =
      hn::MulAdd(hn::Mul(range, hn::Set(d, 255.0F)), hn::Mul(range, r), hn::Set(d, 0.001F));
}

/// hue comes out 30 too large: 0 to 180.
HWY_INLINE void hsv_of_rgb(V8& hue, V8& saturation, V8& value, V8 r, V8 g, V8 b) {
  const D8 d;
  const D16 d16;
  value = hn::Max(hn::Max(r, g), b);
  const auto range = hn::Sub(value, hn::Min(hn::Min(r, g), b));
  const auto is_r = hn::Eq(value, r);
  const auto is_g = hn::Eq(value, g);
  const auto plus = hn::IfThenElse(is_r, g, hn::IfThenElse(is_g, b, r));
  const auto minus = hn::IfThenElse(is_r, b, hn::IfThenElse(is_g, r, g));
  const auto sector = hn::IfThenZeroElse(is_r, hn::IfThenElse(is_g, hn::Set(d, 2), hn::Set(d, 4)));
  const V16 v0 = lower(value), v1 = upper(value), d0 = lower(range), d1 = upper(range);
  const auto bias = hn::Set(d16, 256);  // keeps it positive
  const V16 t0 =
      hn::Add(hn::Mul(lower(sector), d0), hn::Add(hn::Sub(lower(plus), lower(minus)), bias));
  const V16 t1 =
      hn::Add(hn::Mul(upper(sector), d1), hn::Add(hn::Sub(upper(plus), upper(minus)), bias));
  VF h0, h1, h2, h3, s0, s1, s2, s3;
  hue_and_saturation(h0, s0, lower_float(v0), lower_float(d0), lower_float(t0, 256));
  hue_and_saturation(h1, s1, upper_float(v0), upper_float(d0), upper_float(t0, 256));
  hue_and_saturation(h2, s2, lower_float(v1), lower_float(d1), lower_float(t1, 256));
  hue_and_saturation(h3, s3, upper_float(v1), upper_float(d1), upper_float(t1, 256));
  hue = low_bytes(rounded(h0, h1), rounded(h2, h3));
  saturation = low_bytes(rounded(s0, s1), rounded(s2, s3));
}

/// value * rest / 7650 as colour/colour_reference.cpp defines it: the quotient in 1/16384, the
/// product in 1/64 level, both rounded down, and 1/64 for what that lost.
HWY_INLINE V16 share_of(V16 value, V16 rest) {
  const D16 d;
#if HWY_TARGET == HWY_NEON
  const int16x8_t quotient =
      vqdmulhq_s16(vreinterpretq_s16_u16(vshlq_n_u16(rest.raw, 2)), vdupq_n_s16(17545));
  const V16 parts(vreinterpretq_u16_s16(
      vqdmulhq_s16(vreinterpretq_s16_u16(vshlq_n_u16(value.raw, 7)), quotient)));
#else
  const auto quotient = hn::MulHigh(hn::ShiftLeft<3>(rest), hn::Set(d, 17545));
  const auto parts = hn::MulHigh(hn::ShiftLeft<8>(value), quotient);
#endif
  return hn::ShiftRight<6>(hn::Add(parts, hn::Set(d, 1)));
}

/// hue: 0 to 179.
HWY_INLINE void rgb_of_hsv(V8& r, V8& g, V8& b, V8 hue, V8 saturation, V8 value) {
  const D8 d;
  const D16 d16;
  const auto full = hn::Set(d, 30);
  const auto at90 = hn::Set(d, 90);
  const auto at150 = hn::Set(d, 150);
  // how far each channel falls below the value: 0 to 30; one of them is 0 and one 30
  const auto fall_r =
      hn::Min(hn::Min(hn::SaturatedSub(hue, full), hn::SaturatedSub(at150, hue)), full);
  const auto fall_g =
      hn::Min(hn::Max(hn::SaturatedSub(hue, at90), hn::SaturatedSub(full, hue)), full);
  const auto fall_b =
      hn::Min(hn::Max(hn::SaturatedSub(hue, at150), hn::SaturatedSub(at90, hue)), full);
  const auto fall = hn::Sub(hn::Add(hn::Add(fall_r, fall_g), fall_b), full);
  const V16 v0 = lower(value), v1 = upper(value);
  const auto lowest = [&](V16 v, V16 white) HWY_ATTR {  // floor(v * white / 255)
    const auto n = hn::Mul(v, white);
    return hn::ShiftRight<8>(hn::Add(hn::Add(n, hn::Set(d16, 1)), hn::ShiftRight<8>(n)));
  };
  const auto white = hn::Not(saturation);
  const V8 low = low_bytes(lowest(v0, lower(white)), lowest(v1, upper(white)));
  const auto rest = [&](V16 s, V16 part)
                        HWY_ATTR { return hn::Sub(hn::Set(d16, 7650), hn::Mul(s, part)); };
  const V16 w0 = rest(lower(saturation), lower(fall));
  const V16 w1 = rest(upper(saturation), upper(fall));
  const V8 mid = low_bytes(share_of(v0, w0), share_of(v1, w1));
  const auto pick = [&](V8 own) HWY_ATTR {
    const auto falling = hn::IfThenElse(hn::Eq(own, full), low, mid);
    return hn::IfThenElse(hn::Eq(own, hn::Zero(d)), value, falling);
  };
  r = pick(fall_r);
  g = pick(fall_g);
  b = pick(fall_b);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
