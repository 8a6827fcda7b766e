// sluice/aug/kernels/solarize.cpp - max - x where x >= threshold, compiled once per instruction
// set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/solarize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/solarize.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/aug/kernels/map_ahead-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void solarize_u8(std::uint8_t* dst, const std::uint8_t* src, std::size_t count,
                 std::uint8_t threshold) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto limit = hn::Set(d, threshold);
  // x ^ 255 is 255 - x: one mask, no select
  const auto op = [=](auto x) HWY_ATTR {
    return hn::Xor(x, hn::VecFromMask(d, hn::Eq(hn::Max(x, limit), x)));
  };
  std::size_t i = kAskBeforeStores ? map_ahead(dst, src, count, op) : 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    hn::StoreU(op(hn::LoadU(d, src + i)), d, dst + i);
    hn::StoreU(op(hn::LoadU(d, src + i + lanes)), d, dst + i + lanes);
  }
  for (; i < count; ++i)
    dst[i] = src[i] >= threshold ? static_cast<std::uint8_t>(255 - src[i]) : src[i];
}

void solarize_f32(float* dst, const float* src, std::size_t count, float threshold) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto limit = hn::Set(d, threshold);
  const auto one = hn::Set(d, 1.0F);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::LoadU(d, src + i);
    hn::StoreU(hn::IfThenElse(hn::Ge(x, limit), hn::Sub(one, x), x), d, dst + i);
  }
  for (; i < count; ++i)
    dst[i] = src[i] >= threshold ? 1.0F - src[i] : src[i];
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(solarize_u8);
HWY_EXPORT(solarize_f32);

void solarize(std::uint8_t* dst, const std::uint8_t* src, std::size_t count,
              std::uint8_t threshold) {
  HWY_DYNAMIC_DISPATCH(solarize_u8)(dst, src, count, threshold);
}
void solarize(float* dst, const float* src, std::size_t count, float threshold) {
  HWY_DYNAMIC_DISPATCH(solarize_f32)(dst, src, count, threshold);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
