// sluice/aug/kernels/rain.cpp - the blurred layer of rain, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/rain.h"

#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/rain.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // compiles this file once per target and must come first
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void move_sums_u8(std::uint8_t* sums, const std::uint8_t* entering, const std::uint8_t* leaving,
                  std::size_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto change = hn::Sub(hn::LoadU(d, entering + i), hn::LoadU(d, leaving + i));
    hn::StoreU(hn::Add(hn::LoadU(d, sums + i), change), d, sums + i);
  }
}

/// Where round(4 n / 49) rises by one, less one.
constexpr std::array<std::int8_t, 4> kSteps = {6, 18, 30, 42};

void rain_layer_u8(std::uint8_t* layer, const std::uint8_t* sums, std::size_t width) {
  const hn::ScalableTag<std::uint8_t> d;
  const hn::ScalableTag<std::int8_t> di;
  for (std::size_t x = 0; x < width; x += hn::Lanes(d)) {
    const auto at = [&](std::size_t k) HWY_ATTR { return hn::LoadU(d, sums + x + k); };
    const auto count = hn::Add(hn::Add(hn::Add(at(0), at(1)), hn::Add(at(2), at(3))),
                               hn::Add(hn::Add(at(4), at(5)), at(6)));
    // 200 n / 49 is 4 n + 4 n / 49
    const auto small = hn::BitCast(di, count);
    auto value = hn::ShiftLeft<2>(small);
    for (const std::int8_t step : kSteps)
      value = hn::Sub(value, hn::VecFromMask(di, hn::Gt(small, hn::Set(di, step))));
    hn::StoreU(hn::BitCast(d, value), d, layer + x);
  }
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(move_sums_u8);
HWY_EXPORT(rain_layer_u8);

void move_sums(std::uint8_t* sums, const std::uint8_t* entering, const std::uint8_t* leaving,
               std::size_t count) {
  HWY_DYNAMIC_DISPATCH(move_sums_u8)(sums, entering, leaving, count);
}
void rain_layer(std::uint8_t* layer, const std::uint8_t* sums, std::size_t width) {
  HWY_DYNAMIC_DISPATCH(rain_layer_u8)(layer, sums, width);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
