// sluice/aug/kernels/power.cpp - samples to a power, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/power.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/power.cpp"
// foreach_target.h compiles this file once per target and must come first.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void power_floats(float* dst, const float* src, std::size_t count, float exponent) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto to = hn::Set(d, exponent);
  const auto tiny = hn::Set(d, 1e-30F);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::LoadU(d, src + i);
    const auto log = hn::Log(d, hn::Max(x, tiny));
    hn::StoreU(hn::IfThenElseZero(hn::Gt(x, tiny), hn::Exp(d, hn::Mul(log, to))), d, dst + i);
  }
  for (; i < count; ++i)
    dst[i] = src[i] > 1e-30F ? std::pow(src[i], exponent) : 0.0F;
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(power_floats);

void power(float* dst, const float* src, std::size_t count, float exponent) {
  HWY_DYNAMIC_DISPATCH(power_floats)(dst, src, count, exponent);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
