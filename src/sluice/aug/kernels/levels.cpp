// sluice/aug/kernels/levels.cpp - floats of 0 to 1 as 256 levels, and back, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/levels.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void floats_to_levels(std::uint8_t* dst, const float* src, std::size_t count) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> db;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, 255.0F), half = hn::Set(d, 0.5F);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    // Truncation is floor for what is not negative; the rest saturates to 0.
    const auto level = hn::ConvertTo(di, hn::MulAdd(hn::LoadU(d, src + i), scale, half));
    hn::StoreU(hn::DemoteTo(db, level), db, dst + i);
  }
  for (; i < count; ++i) {
    const float level = src[i] * 255.0F + 0.5F;
    dst[i] = static_cast<std::uint8_t>(level > 255.0F ? 255.0F : level > 0.0F ? level : 0.0F);
  }
}

void levels_to_floats(float* dst, const std::uint8_t* src, std::size_t count) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> db;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, 1.0F / 255.0F);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(db, src + i))), scale), d,
               dst + i);
  for (; i < count; ++i)
    dst[i] = static_cast<float>(src[i]) * (1.0F / 255.0F);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(floats_to_levels);
HWY_EXPORT(levels_to_floats);

void to_levels(std::uint8_t* dst, const float* src, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(floats_to_levels)(dst, src, count);
}
void from_levels(float* dst, const std::uint8_t* src, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(levels_to_floats)(dst, src, count);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
