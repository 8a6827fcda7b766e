// sluice/aug/kernels/bits.cpp - samples inverted, or cut to their high bits, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/bits.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/aug/kernels/map_ahead-inl.h"

#include <array>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Four vectors at a time: loads of one step pass the stores of the last.
template <class Op, class Plain>
HWY_INLINE void each_byte(std::uint8_t* dst, const std::uint8_t* src, std::size_t count, Op op,
                          Plain plain) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = kAskBeforeStores ? map_ahead(dst, src, count, op) : 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto a = hn::LoadU(d, src + i), b = hn::LoadU(d, src + i + lanes);
    const auto c = hn::LoadU(d, src + i + 2 * lanes), e = hn::LoadU(d, src + i + 3 * lanes);
    hn::StoreU(op(a), d, dst + i);
    hn::StoreU(op(b), d, dst + i + lanes);
    hn::StoreU(op(c), d, dst + i + 2 * lanes);
    hn::StoreU(op(e), d, dst + i + 3 * lanes);
  }
  for (; i < count; ++i)
    dst[i] = plain(src[i]);
}

void invert_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t count) {
  each_byte(
      dst, src, count, [](auto x) HWY_ATTR { return hn::Not(x); },
      [](std::uint8_t x) HWY_ATTR { return static_cast<std::uint8_t>(255 - x); });
}

void and_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t count, std::uint8_t mask) {
  const auto all = hn::Set(hn::ScalableTag<std::uint8_t>(), mask);
  each_byte(
      dst, src, count, [=](auto x) HWY_ATTR { return hn::And(x, all); },
      [&](std::uint8_t x) HWY_ATTR { return static_cast<std::uint8_t>(x & mask); });
}

/// The masks of consecutive samples repeat: as many vectors of them as there are channels.
void and_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                  std::size_t channels, const std::uint8_t* masks) {
  constexpr std::size_t kLanes = 16, kMostChannels = 64;
  const hn::FixedTag<std::uint8_t, kLanes> d;
  std::array<std::uint8_t, kMostChannels * kLanes> pattern;
  for (std::size_t i = 0; i < channels * kLanes; ++i)
    pattern[i] = masks[i % channels];
  const std::size_t count = pixels * channels, period = channels * kLanes;
  std::size_t i = 0;
  for (; i + period <= count; i += period)
    for (std::size_t k = 0; k < period; k += kLanes)
      hn::StoreU(hn::And(hn::LoadU(d, src + i + k), hn::LoadU(d, pattern.data() + k)), d,
                 dst + i + k);
  for (std::size_t k = 0; i + k < count; ++k)
    dst[i + k] = static_cast<std::uint8_t>(src[i + k] & pattern[k]);
}

void one_minus(float* dst, const float* src, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(d, 1.0F);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto a = hn::LoadU(d, src + i), b = hn::LoadU(d, src + i + lanes);
    hn::StoreU(hn::Sub(one, a), d, dst + i);
    hn::StoreU(hn::Sub(one, b), d, dst + i + lanes);
  }
  for (; i < count; ++i)
    dst[i] = 1.0F - src[i];
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(invert_bytes);
HWY_EXPORT(and_bytes);
HWY_EXPORT(and_channels);
HWY_EXPORT(one_minus);

void invert(std::uint8_t* dst, const std::uint8_t* src, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(invert_bytes)(dst, src, count);
}
void invert(float* dst, const float* src, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(one_minus)(dst, src, count);
}
void keep_bits(std::uint8_t* dst, const std::uint8_t* src, std::size_t count, std::uint8_t mask) {
  HWY_DYNAMIC_DISPATCH(and_bytes)(dst, src, count, mask);
}
void keep_bits_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                        std::size_t channels, const std::uint8_t* masks) {
  HWY_DYNAMIC_DISPATCH(and_channels)(dst, src, pixels, channels, masks);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
