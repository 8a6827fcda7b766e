// sluice/train/cpu/update_kernels.cpp - optimizer loops, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/update_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/train/cpu/update_kernels.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::train::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// step(tag, i) over whole vectors, then element by element.
template <class Step>
HWY_INLINE void each(std::int64_t count, Step step) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    step(d, i);
  for (; i < count; ++i)
    step(hn::CappedTag<float, 1>(), i);
}

double sum_of_squares_of(const float* x, std::int64_t count) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto even = hn::Zero(d), odd = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto a = hn::PromoteTo(d, hn::LoadU(half, x + i));
    const auto b = hn::PromoteTo(d, hn::LoadU(half, x + i + lanes));
    even = hn::MulAdd(a, a, even);
    odd = hn::MulAdd(b, b, odd);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; i < count; ++i)
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

/// Both moments; returns m̂ / (√v̂ + epsilon).
template <class D>
HWY_INLINE hn::Vec<D> adam_direction(D d, const float* gradient, float* m, float* v,
                                     const UpdateRates& r) {
  const auto set = [&](float value) HWY_ATTR { return hn::Set(d, value); };
  const auto g = hn::Mul(hn::LoadU(d, gradient), set(r.clip));
  const auto m1 = hn::MulAdd(set(r.beta1), hn::LoadU(d, m), hn::Mul(set(r.gain1), g));
  const auto v1 = hn::MulAdd(set(r.beta2), hn::LoadU(d, v), hn::Mul(set(r.gain2), hn::Mul(g, g)));
  hn::StoreU(m1, d, m);
  hn::StoreU(v1, d, v);
  const auto root = hn::Sqrt(hn::Mul(v1, set(r.correction2)));
  return hn::Div(hn::Mul(m1, set(r.correction1)), hn::Add(root, set(r.epsilon)));
}

void lamb_direction_of(float* gradient, float* m, float* v, const float* p, std::int64_t count,
                       const UpdateRates& rates) {
  const UpdateRates r = rates;  // not in memory that the stores could change
  each(count, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto u = adam_direction(d, gradient + i, m + i, v + i, r);
    hn::StoreU(hn::MulAdd(hn::Set(d, r.decay), hn::LoadU(d, p + i), u), d, gradient + i);
  });
}

void descend_by(float* p, const float* u, std::int64_t count, float ratio) {
  each(count, [=](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::NegMulAdd(hn::Set(d, ratio), hn::LoadU(d, u + i), hn::LoadU(d, p + i)), d,
               p + i);
  });
}

void adamw_step_of(float* p, const float* gradient, float* m, float* v, std::int64_t count,
                   const UpdateRates& rates) {
  const UpdateRates r = rates;
  const float kept = 1 - r.rate * r.decay;
  each(count, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto u = adam_direction(d, gradient + i, m + i, v + i, r);
    const auto decayed = hn::Mul(hn::Set(d, kept), hn::LoadU(d, p + i));
    hn::StoreU(hn::NegMulAdd(hn::Set(d, r.rate), u, decayed), d, p + i);
  });
}

void follow_by(float* average, const float* p, std::int64_t count, float gain) {
  each(count, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto old = hn::LoadU(d, average + i);
    hn::StoreU(hn::MulAdd(hn::Set(d, gain), hn::Sub(hn::LoadU(d, p + i), old), old), d,
               average + i);
  });
}

}  // namespace sluice::train::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::train::cpu {

HWY_EXPORT(sum_of_squares_of);
HWY_EXPORT(lamb_direction_of);
HWY_EXPORT(descend_by);
HWY_EXPORT(adamw_step_of);
HWY_EXPORT(follow_by);

double sum_of_squares(const float* x, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares_of)(x, count);
}
void lamb_direction(float* gradient, float* m, float* v, const float* p, std::int64_t count,
                    const UpdateRates& rates) {
  HWY_DYNAMIC_DISPATCH(lamb_direction_of)(gradient, m, v, p, count, rates);
}
void descend(float* p, const float* u, std::int64_t count, float ratio) {
  HWY_DYNAMIC_DISPATCH(descend_by)(p, u, count, ratio);
}
void adamw_step(float* p, const float* gradient, float* m, float* v, std::int64_t count,
                const UpdateRates& rates) {
  HWY_DYNAMIC_DISPATCH(adamw_step_of)(p, gradient, m, v, count, rates);
}
void follow(float* average, const float* p, std::int64_t count, float gain) {
  HWY_DYNAMIC_DISPATCH(follow_by)(average, p, count, gain);
}

}  // namespace sluice::train::cpu
#endif  // HWY_ONCE
