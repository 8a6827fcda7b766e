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

/// 1 / v for v in [1, 8]: an estimate of at least 12 bits and one step of Newton where there is
/// one.
HWY_INLINE V inverse(V v) {
#if HWY_ARCH_X86
  const V guess = hn::ApproximateReciprocal(v);
  return hn::Mul(guess, hn::NegMulAdd(v, guess, hn::Set(F(), 2.0F)));
#else
  return hn::Div(hn::Set(F(), 1.0F), v);
#endif
}

/// bell = exp(−x²/2) and below = Φ(x), the normal distribution: Φ(−u) = exp(−u²/2) · R(q) for u ≥
/// 0, q = −0.3·u / (1 + 0.3·u), R the polynomial of degree 8 with R(0) = 1/2 and the least error
/// (4e-8 relative near 0, 2e-7 far out). So both tails keep their digits, and erf(z) = 2·Φ(√2·z) −
/// 1 is within 2e-8, before the rounding of floats.
HWY_INLINE void normal_at(V x, V& bell, V& below) {
  const F f;
  bell = exp_of(hn::Mul(hn::Mul(x, hn::Set(f, -0.5F)), x));
  const V u = hn::Min(hn::Abs(x), hn::Set(f, 14.0F));  // bell is 0 from there on, ∞ included
  const V slow = hn::Mul(u, hn::Set(f, -0.3F));
  const V q = hn::Mul(slow, inverse(hn::Sub(hn::Set(f, 1.0F), slow)));
  V p = hn::Set(f, 0.0354557551F);
  p = hn::MulAdd(p, q, hn::Set(f, 0.128161868F));
  p = hn::MulAdd(p, q, hn::Set(f, 0.105968255F));
  p = hn::MulAdd(p, q, hn::Set(f, -0.117130005F));
  p = hn::MulAdd(p, q, hn::Set(f, -0.0480816209F));
  p = hn::MulAdd(p, q, hn::Set(f, 0.700547389F));
  p = hn::MulAdd(p, q, hn::Set(f, 1.44804036F));
  p = hn::MulAdd(p, q, hn::Set(f, 1.32980915F));
  p = hn::MulAdd(p, q, hn::Set(f, 0.5F));
  const V tail = hn::Mul(p, bell);
  below = hn::IfThenElse(hn::Lt(x, hn::Zero(f)), tail, hn::Sub(hn::Set(f, 1.0F), tail));
}

template <class Act>
void forward(Act* y, const Act* x, Rows elements) {
  each_vector(elements.begin, elements.end, [&](std::int64_t i, auto access) HWY_ATTR {
    const V v = access.get(x + i);
    V bell, below;
    normal_at(v, bell, below);
    access.put(hn::Mul(v, below), y + i);
  });
}

template <class Act>
void backward(Act* dx, const Act* dy, const Act* x, Rows elements) {
  const V peak = hn::Set(F(), 0.398942280F);  // 1 / √(2π)
  each_vector(elements.begin, elements.end, [&](std::int64_t i, auto access) HWY_ATTR {
    const V v = access.get(x + i);
    V bell, below;
    normal_at(v, bell, below);
    const V slope = hn::MulAdd(v, hn::Mul(bell, peak), below);
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
