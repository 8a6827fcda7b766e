// sluice/train/cpu/gelu.cpp - GELU, conversions and sums, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/gelu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/train/cpu/gelu.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/train/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::train::cpu::HWY_NAMESPACE {
namespace {

/// 1 / v for v in [1, 18]: an estimate of at least 12 bits and one step of Newton where there is
/// one.
HWY_INLINE V inverse(V v) {
#if HWY_ARCH_X86
  const V guess = hn::ApproximateReciprocal(v);
  return hn::Mul(guess, hn::NegMulAdd(v, guess, hn::Set(F(), 2.0F)));
#else
  return hn::Div(hn::Set(F(), 1.0F), v);
#endif
}

/// c[0]·v³ + c[1]·v² + c[2]·v + c[3], of any degree.
template <std::size_t kCount>
HWY_INLINE V polynomial(V v, const float (&c)[kCount]) {
  V p = hn::Set(F(), c[0]);
  for (std::size_t i = 1; i < kCount; ++i)
    p = hn::MulAdd(p, v, hn::Set(F(), c[i]));
  return p;
}

/// 2^r for |r| ≤ 1/2, and R of normal_at(): least errors at the degree that what is stored asks
/// for. erf is within 2e-8 for float and 9e-7 for Bf16, before rounding (6e-8 and 2e-3).
template <class Act>
struct Fit {
  static constexpr float kPower[] = {1.535113949e-4F,
                                     1.339885374e-3F,
                                     9.618444804e-3F,
                                     5.550332531e-2F,
                                     0.2402264787F,
                                     0.6931472028F,
                                     1.0F};
  static constexpr float kRatio[] = {0.0354557551F, -0.128161868F,  0.105968255F,
                                     0.117130005F,  -0.0480816209F, -0.700547389F,
                                     1.44804036F,   -1.32980915F,   0.5F};
};
template <>
struct Fit<Bf16> {
  static constexpr float kPower[] = {1.326374277e-3F, 9.671453868e-3F, 5.550736933e-2F,
                                     0.2402224304F,   0.6931469755F,   1.0F};
  static constexpr float kRatio[] = {-0.0803193924F, 0.256303506F, -0.104623481F, -0.688431377F,
                                     1.44682937F,    -1.32976871F, 0.5F};
};

/// u = |x| (at most 14), bell = exp(−x²/2), and ratio with Φ(−u) = bell · ratio, Φ the normal
/// distribution: R(q), q = u / (u + 1 / 0.3), R(0) = 1/2. So both tails keep their digits. Bell is
/// 0 from 13.2 on, and NaN for NaN.
template <class Act>
HWY_INLINE void normal_at(V x, V& u, V& bell, V& ratio) {
  const F f;
  const V power = hn::Mul(hn::Mul(x, hn::Set(f, -0.72134752F)), x);  // of 2
  const V rounded = hn::Add(power, hn::Set(f, kRounder));
  const V r = hn::Sub(power, hn::Sub(rounded, hn::Set(f, kRounder)));
  bell = hn::IfThenZeroElse(hn::Lt(power, hn::Set(f, -126.0F)),
                            hn::Mul(polynomial(r, Fit<Act>::kPower), power_of_two(rounded)));
  u = hn::Min(hn::Abs(x), hn::Set(f, 14.0F));
  const V q = hn::Mul(u, inverse(hn::Add(u, hn::Set(f, 1 / 0.3F))));
  ratio = polynomial(q, Fit<Act>::kRatio);
}

/// x·Φ(x) = max(x, 0) − |x|·Φ(−|x|).
template <class Act>
void forward(Act* y, const Act* x, Rows elements) {
  each_vector(elements.begin, elements.end, [&](std::int64_t i, auto access) HWY_ATTR {
    const V v = access.get(x + i);
    V u, bell, ratio;
    normal_at<Act>(v, u, bell, ratio);
    access.put(hn::NegMulAdd(u, hn::Mul(bell, ratio), hn::Max(v, hn::Zero(F()))), y + i);
  });
}

/// The slope Φ(x) + x·φ(x) is Φ(−u) − u·φ(u) below 0, and 1 − that from 0 on.
template <class Act>
void backward(Act* dx, const Act* dy, const Act* x, Rows elements) {
  const V peak = hn::Set(F(), 0.398942280F);  // 1 / √(2π)
  each_vector(elements.begin, elements.end, [&](std::int64_t i, auto access) HWY_ATTR {
    const V v = access.get(x + i);
    V u, bell, ratio;
    normal_at<Act>(v, u, bell, ratio);
    const V low = hn::Mul(bell, hn::NegMulAdd(u, peak, ratio));
    const V slope = hn::IfThenElse(hn::Lt(v, hn::Zero(F())), low, hn::Sub(hn::Set(F(), 1.0F), low));
    access.put(hn::Mul(access.get(dy + i), slope), dx + i);
  });
}

template <class To, class From>
void convert(To* y, const From* x, Rows elements) {
  each_vector(elements.begin, elements.end,
              [&](std::int64_t i, auto access) HWY_ATTR { access.put(access.get(x + i), y + i); });
}

void forward_float(float* y, const float* x, Rows elements) {
  forward(y, x, elements);
}
void forward_bf16(Bf16* y, const Bf16* x, Rows elements) {
  forward(y, x, elements);
}
void backward_float(float* dx, const float* dy, const float* x, Rows elements) {
  backward(dx, dy, x, elements);
}
void backward_bf16(Bf16* dx, const Bf16* dy, const Bf16* x, Rows elements) {
  backward(dx, dy, x, elements);
}
void narrow(Bf16* y, const float* x, Rows elements) {
  convert(y, x, elements);
}
void widen(float* y, const Bf16* x, Rows elements) {
  convert(y, x, elements);
}
void add(float* y, const float* x, Rows elements) {
  each_vector(elements.begin, elements.end, [&](std::int64_t i, auto access) HWY_ATTR {
    access.put(hn::Add(access.get(y + i), access.get(x + i)), y + i);
  });
}

}  // namespace
}  // namespace sluice::train::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::train::cpu {

namespace {
HWY_EXPORT(forward_float);
HWY_EXPORT(forward_bf16);
HWY_EXPORT(backward_float);
HWY_EXPORT(backward_bf16);
HWY_EXPORT(narrow);
HWY_EXPORT(widen);
HWY_EXPORT(add);
}  // namespace

template <>
void gelu_forward(float* y, const float* x, Rows elements) {
  HWY_DYNAMIC_DISPATCH(forward_float)(y, x, elements);
}
template <>
void gelu_forward(Bf16* y, const Bf16* x, Rows elements) {
  HWY_DYNAMIC_DISPATCH(forward_bf16)(y, x, elements);
}
template <>
void gelu_backward(float* dx, const float* dy, const float* x, Rows elements) {
  HWY_DYNAMIC_DISPATCH(backward_float)(dx, dy, x, elements);
}
template <>
void gelu_backward(Bf16* dx, const Bf16* dy, const Bf16* x, Rows elements) {
  HWY_DYNAMIC_DISPATCH(backward_bf16)(dx, dy, x, elements);
}

void to_bf16(Bf16* y, const float* x, Rows elements) {
  HWY_DYNAMIC_DISPATCH(narrow)(y, x, elements);
}
void to_float(float* y, const Bf16* x, Rows elements) {
  HWY_DYNAMIC_DISPATCH(widen)(y, x, elements);
}
void add_into(float* y, const float* x, Rows elements) {
  HWY_DYNAMIC_DISPATCH(add)(y, x, elements);
}

}  // namespace sluice::train::cpu
#endif  // HWY_ONCE
