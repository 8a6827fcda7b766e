// sluice/aug/kernels/repeat.cpp - a value per pixel becomes a value per sample, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/repeat.h"

#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/repeat.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // compiles this file once per target and must come first
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kMaxChannels = 64;

/// Sixteen bytes of pixels become `channels` vectors: one byte shuffle each, the same for every
/// group.
template <class T>
HWY_INLINE void repeat(T* dst, const T* src, std::size_t width, std::size_t channels) {
  if (channels == 1) {
    std::memcpy(dst, src, width * sizeof(T));
    return;
  }
  constexpr std::size_t kGroup = 16 / sizeof(T);
  const hn::FixedTag<std::uint8_t, 16> d;
  HWY_ALIGN std::uint8_t shuffles[kMaxChannels * 16];
  for (std::size_t i = 0; i < channels * kGroup; ++i)
    for (std::size_t byte = 0; byte < sizeof(T); ++byte)
      shuffles[i * sizeof(T) + byte] = static_cast<std::uint8_t>(i / channels * sizeof(T) + byte);
  const auto* from = reinterpret_cast<const std::uint8_t*>(src);
  auto* to = reinterpret_cast<std::uint8_t*>(dst);
  if (channels == 3) {
    const auto s0 = hn::Load(d, shuffles), s1 = hn::Load(d, shuffles + 16),
               s2 = hn::Load(d, shuffles + 32);
    for (std::size_t x = 0; x < width; x += kGroup, from += 16, to += 48) {
      const auto pixels = hn::LoadU(d, from);
      hn::StoreU(hn::TableLookupBytes(pixels, s0), d, to);
      hn::StoreU(hn::TableLookupBytes(pixels, s1), d, to + 16);
      hn::StoreU(hn::TableLookupBytes(pixels, s2), d, to + 32);
    }
    return;
  }
  const std::size_t bytes = width * channels * sizeof(T);
  for (std::size_t at = 0; at < bytes; from += 16) {
    const auto pixels = hn::LoadU(d, from);
    for (std::size_t k = 0; k < channels && at < bytes; ++k, at += 16)
      hn::StoreU(hn::TableLookupBytes(pixels, hn::Load(d, shuffles + 16 * k)), d, to + at);
  }
}

void repeat_u8(std::uint8_t* dst, const std::uint8_t* src, std::size_t width,
               std::size_t channels) {
  repeat(dst, src, width, channels);
}
void repeat_i16(std::int16_t* dst, const std::int16_t* src, std::size_t width,
                std::size_t channels) {
  repeat(dst, src, width, channels);
}
void repeat_f32(float* dst, const float* src, std::size_t width, std::size_t channels) {
  repeat(dst, src, width, channels);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(repeat_u8);
HWY_EXPORT(repeat_i16);
HWY_EXPORT(repeat_f32);

void repeat_pixels(std::uint8_t* dst, const std::uint8_t* src, std::size_t width, int channels) {
  HWY_DYNAMIC_DISPATCH(repeat_u8)(dst, src, width, static_cast<std::size_t>(channels));
}
void repeat_pixels(std::int16_t* dst, const std::int16_t* src, std::size_t width, int channels) {
  HWY_DYNAMIC_DISPATCH(repeat_i16)(dst, src, width, static_cast<std::size_t>(channels));
}
void repeat_pixels(float* dst, const float* src, std::size_t width, int channels) {
  HWY_DYNAMIC_DISPATCH(repeat_f32)(dst, src, width, static_cast<std::size_t>(channels));
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
