// sluice/train/cpu/vectors-inl.h - float vectors from and to float or Bf16 in memory, exp and sums.
// SPDX-License-Identifier: Apache-2.0
#if defined(SLUICE_TRAIN_CPU_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_TRAIN_CPU_VECTORS_INL_H_
#undef SLUICE_TRAIN_CPU_VECTORS_INL_H_
#else
#define SLUICE_TRAIN_CPU_VECTORS_INL_H_
#endif

#include "sluice/train/bf16.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace sluice::train::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;
using Rounds = hn::Rebind<std::uint16_t, F>;  // as many 16-bit lanes

HWY_INLINE std::int64_t lanes() {
  return static_cast<std::int64_t>(hn::Lanes(F()));
}

HWY_INLINE V load(const float* p) {
  return hn::LoadU(F(), p);
}
HWY_INLINE V load(const Bf16* p) {
  const hn::RebindToUnsigned<F> u32;
  const auto bits = hn::LoadU(Rounds(), reinterpret_cast<const std::uint16_t*>(p));
  return hn::BitCast(F(), hn::ShiftLeft<16>(hn::PromoteTo(u32, bits)));
}

HWY_INLINE void store(V v, float* p) {
  hn::StoreU(v, F(), p);
}
/// To nearest even, NaN stays NaN: the same bits as to_bf16().
HWY_INLINE void store(V v, Bf16* p) {
  const hn::RebindToUnsigned<F> u32;
  const hn::RebindToSigned<F> i32;
  const auto bits = hn::BitCast(u32, v);
  const auto upper = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(upper, hn::Set(u32, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(u32, 0x7fffU)), odd));
  const auto quiet = hn::Or(upper, hn::Set(u32, 0x40U));
  const auto kept = hn::IfThenElse(hn::RebindMask(u32, hn::IsNaN(v)), quiet, rounded);
  hn::StoreU(hn::DemoteTo(Rounds(), hn::BitCast(i32, kept)), Rounds(),
             reinterpret_cast<std::uint16_t*>(p));
}

/// The first `count` lanes (fewer than a vector), the others 0; for the end of a row.
template <class T>
HWY_INLINE V load_part(const T* p, std::int64_t count) {
  HWY_ALIGN T part[hn::MaxLanes(F())] = {};
  std::copy_n(p, count, part);
  return load(part);
}
template <class T>
HWY_INLINE void store_part(V v, T* p, std::int64_t count) {
  HWY_ALIGN T part[hn::MaxLanes(F())];
  store(v, part);
  std::copy_n(part, count, p);
}

#if !HWY_MEM_OPS_MIGHT_FAULT  // masked lanes are not touched
HWY_INLINE V load_part(const float* p, std::int64_t count) {
  return hn::MaskedLoad(hn::FirstN(F(), static_cast<std::size_t>(count)), F(), p);
}
HWY_INLINE void store_part(V v, float* p, std::int64_t count) {
  hn::BlendedStore(v, hn::FirstN(F(), static_cast<std::size_t>(count)), F(), p);
}
#endif

/// How each_vector() and sum_over() let their callers reach memory: a whole vector, or the end of a
/// row.
struct Whole {
  template <class T>
  HWY_INLINE V get(const T* p) const {
    return load(p);
  }
  template <class T>
  HWY_INLINE void put(V v, T* p) const {
    store(v, p);
  }
  HWY_INLINE V kept(V v) const { return v; }
};
struct Part {
  std::int64_t count;
  template <class T>
  HWY_INLINE V get(const T* p) const {
    return load_part(p, count);
  }
  template <class T>
  HWY_INLINE void put(V v, T* p) const {
    store_part(v, p, count);
  }
  /// v, and 0 in lanes behind the row: for sums of what is not 0 at 0.
  HWY_INLINE V kept(V v) const {
    return hn::IfThenElseZero(hn::FirstN(F(), static_cast<std::size_t>(count)), v);
  }
};

/// step(i, access) for the vectors from `begin` on.
template <class Step>
HWY_INLINE void each_vector(std::int64_t begin, std::int64_t end, const Step& step) {
  const std::int64_t lane_count = lanes();
  std::int64_t i = begin;
  for (; i + lane_count <= end; i += lane_count)
    step(i, Whole());
  if (i < end) step(i, Part{end - i});
}

HWY_INLINE float sum_of(V v) {
  return hn::GetLane(hn::SumOfLanes(F(), v));
}

/// Σ of the lanes after acc = step(i, access, acc); four sums, so that none waits for its last
/// term.
template <class Step>
HWY_INLINE float sum_over(std::int64_t count, const Step& step) {
  const std::int64_t lane_count = lanes();
  V a = hn::Zero(F()), b = a, c = a, e = a;
  std::int64_t i = 0;
  for (; i + 4 * lane_count <= count; i += 4 * lane_count) {
    a = step(i, Whole(), a);
    b = step(i + lane_count, Whole(), b);
    c = step(i + 2 * lane_count, Whole(), c);
    e = step(i + 3 * lane_count, Whole(), e);
  }
  for (; i + lane_count <= count; i += lane_count)
    a = step(i, Whole(), a);
  if (i < count) b = step(i, Part{count - i}, b);
  return sum_of(hn::Add(hn::Add(a, b), hn::Add(c, e)));
}

/// In the low bits of x + kRounder is the integer next to x, plus the bias of an exponent.
constexpr float kRounder = 12582912.0F + 127.0F;  // 1.5 · 2²³
HWY_INLINE V power_of_two(V rounded) {
  const hn::RebindToSigned<F> i32;
  return hn::BitCast(F(), hn::ShiftLeft<23>(hn::BitCast(i32, rounded)));
}

/// 2ⁿ for x·log2(e) = n + r, times a polynomial of r: within 2 units in the last place for x in
/// [-87, 88]; 0 below, NaN for NaN, not for use above.
HWY_INLINE V exp_of(V x) {
  const F f;
  const V rounded = hn::MulAdd(x, hn::Set(f, 1.44269504F), hn::Set(f, kRounder));
  const V n = hn::Sub(rounded, hn::Set(f, kRounder));
  V r = hn::NegMulAdd(n, hn::Set(f, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(f, -2.12194440e-4F), r);
  V p = hn::Set(f, 0.001384164963F);
  p = hn::MulAdd(p, r, hn::Set(f, 0.008374142391F));
  p = hn::MulAdd(p, r, hn::Set(f, 0.04166803429F));
  p = hn::MulAdd(p, r, hn::Set(f, 0.1666643144F));
  p = hn::MulAdd(p, r, hn::Set(f, 0.4999999412F));
  p = hn::MulAdd(p, r, hn::Set(f, 1.000000032F));
  p = hn::MulAdd(p, r, hn::Set(f, 1.0F));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(f, -87.0F)), hn::Mul(p, power_of_two(rounded)));
}

}  // namespace sluice::train::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
