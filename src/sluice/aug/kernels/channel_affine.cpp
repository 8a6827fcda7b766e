// sluice/aug/kernels/channel_affine.cpp - a sum, or a product and a sum, per channel, compiled once
// per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/channel_affine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/channel_affine.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <array>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// What belongs to consecutive samples repeats with the channel count: patterns of as many vectors
// as there are channels, walked from the start for every period.

constexpr std::size_t kMostChannels = 64;

void shift_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                 std::size_t channels, const std::uint8_t* up, const std::uint8_t* down) {
  constexpr std::size_t kLanes = 16;
  const hn::FixedTag<std::uint8_t, kLanes> d;
  std::array<std::uint8_t, kMostChannels * kLanes> ups, downs;
  const std::size_t period = channels * kLanes, count = pixels * channels;
  for (std::size_t i = 0; i < period; ++i) {
    ups[i] = up[i % channels];
    downs[i] = down[i % channels];
  }
  const auto shifted = [&](std::size_t i, std::size_t k) HWY_ATTR {
    return hn::SaturatedSub(
        hn::SaturatedAdd(hn::LoadU(d, src + i + k), hn::LoadU(d, ups.data() + k)),
        hn::LoadU(d, downs.data() + k));
  };
  std::size_t i = 0;
  if (channels == 3) {
    for (; i + period <= count; i += period) {
      const auto a = shifted(i, 0), b = shifted(i, kLanes), c = shifted(i, 2 * kLanes);
      hn::StoreU(a, d, dst + i);
      hn::StoreU(b, d, dst + i + kLanes);
      hn::StoreU(c, d, dst + i + 2 * kLanes);
    }
  } else {
    for (; i + period <= count; i += period)
      for (std::size_t k = 0; k < period; k += kLanes)
        hn::StoreU(shifted(i, k), d, dst + i + k);
  }
  for (std::size_t k = 0; i + k < count; ++k)
    dst[i + k] = static_cast<std::uint8_t>(std::clamp(src[i + k] + ups[k] - downs[k], 0, 255));
}

template <bool kClamp, class From>
HWY_INLINE void affine(float* dst, const From* src, std::size_t pixels, std::size_t channels,
                       const float* scale, const float* offset) {
  constexpr std::size_t kLanes = 4;
  const hn::FixedTag<float, kLanes> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const hn::Rebind<From, decltype(d)> df;
  // At least four vectors in a period: one channel must not mean a loop of one step.
  const std::size_t period = channels * kLanes * (channels < 4 ? 4 : 1);
  std::array<float, kMostChannels * kLanes> scales, offsets;
  for (std::size_t i = 0; i < period; ++i) {
    scales[i] = scale[i % channels];
    offsets[i] = offset[i % channels];
  }
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0F);
  const std::size_t count = pixels * channels;
  std::size_t i = 0;
  for (; i + period <= count; i += period)
    for (std::size_t k = 0; k < period; k += kLanes) {
      hn::Vec<decltype(d)> x;
      if constexpr (sizeof(From) == 1)
        x = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(df, src + i + k)));
      else
        x = hn::LoadU(d, src + i + k);
      x = hn::MulAdd(x, hn::LoadU(d, scales.data() + k), hn::LoadU(d, offsets.data() + k));
      if constexpr (kClamp) x = hn::Min(hn::Max(x, zero), one);
      hn::StoreU(x, d, dst + i + k);
    }
  for (std::size_t k = 0; i + k < count; ++k) {
    const float x = static_cast<float>(src[i + k]) * scales[k] + offsets[k];
    dst[i + k] = kClamp ? std::clamp(x, 0.0F, 1.0F) : x;
  }
}

void affine_clamped(float* dst, const float* src, std::size_t pixels, std::size_t channels,
                    const float* scale, const float* offset) {
  affine<true>(dst, src, pixels, channels, scale, offset);
}
void affine_floats(float* dst, const float* src, std::size_t pixels, std::size_t channels,
                   const float* scale, const float* offset) {
  affine<false>(dst, src, pixels, channels, scale, offset);
}
void affine_bytes(float* dst, const std::uint8_t* src, std::size_t pixels, std::size_t channels,
                  const float* scale, const float* offset) {
  affine<false>(dst, src, pixels, channels, scale, offset);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(shift_bytes);
HWY_EXPORT(affine_clamped);
HWY_EXPORT(affine_floats);
HWY_EXPORT(affine_bytes);

void shift_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                    std::size_t channels, const std::uint8_t* up, const std::uint8_t* down) {
  HWY_DYNAMIC_DISPATCH(shift_bytes)(dst, src, pixels, channels, up, down);
}
void affine_channels_clamped(float* dst, const float* src, std::size_t pixels, std::size_t channels,
                             const float* scale, const float* offset) {
  HWY_DYNAMIC_DISPATCH(affine_clamped)(dst, src, pixels, channels, scale, offset);
}
void affine_channels(float* dst, const float* src, std::size_t pixels, std::size_t channels,
                     const float* scale, const float* offset) {
  HWY_DYNAMIC_DISPATCH(affine_floats)(dst, src, pixels, channels, scale, offset);
}
void affine_channels(float* dst, const std::uint8_t* src, std::size_t pixels, std::size_t channels,
                     const float* scale, const float* offset) {
  HWY_DYNAMIC_DISPATCH(affine_bytes)(dst, src, pixels, channels, scale, offset);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
