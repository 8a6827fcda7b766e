// sluice/aug/kernels/random.cpp - arrays of noise, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/random.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/random.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/random-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

/// Runs step(dst + i) for whole vectors, then once more into a buffer for what is left.
template <std::size_t kPerStep, class T, class Step>
HWY_INLINE void fill(T* dst, std::size_t count, std::size_t lanes, Step step) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    step(dst + i);
  if (i == count) return;
  HWY_ALIGN T rest[kPerStep];
  step(rest);
  std::memcpy(dst + i, rest, (count - i) * sizeof(T));
}

void fill_bits_u32(std::uint32_t* dst, std::size_t count, NoiseStream stream, std::uint32_t first) {
  const hn::ScalableTag<std::uint32_t> d;
  NoiseWords words(stream, first);
  fill<HWY_MAX_BYTES / 4>(dst, count, hn::Lanes(d),
                          [&](std::uint32_t* to) HWY_ATTR { hn::StoreU(words.next(), d, to); });
}

void fill_uniform_f32(float* dst, std::size_t count, NoiseStream stream, std::uint32_t first) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto scale = hn::Set(d, 0x1p-24F);
  NoiseWords words(stream, first);
  fill<HWY_MAX_BYTES / 4>(dst, count, hn::Lanes(d), [&](float* to) HWY_ATTR {
    const auto whole = hn::BitCast(di, hn::ShiftRight<8>(words.next()));
    hn::StoreU(hn::Mul(hn::ConvertTo(d, whole), scale), d, to);
  });
}

void fill_signed_f32(float* dst, std::size_t count, NoiseStream stream, std::uint32_t first) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto scale = hn::Set(d, 0x1p-23F);
  NoiseWords words(stream, first);
  fill<HWY_MAX_BYTES / 4>(dst, count, hn::Lanes(d), [&](float* to) HWY_ATTR {
    const auto whole = hn::ShiftRight<8>(hn::BitCast(di, words.next()));
    hn::StoreU(hn::Mul(hn::ConvertTo(d, whole), scale), d, to);
  });
}

void fill_normal_i16(std::int16_t* dst, std::size_t count, const NormalNoise& noise,
                     std::uint32_t first_word) {
  const hn::ScalableTag<std::int16_t> d;
  NormalValues values(noise, first_word);
  fill<HWY_MAX_BYTES>(dst, count, 2 * hn::Lanes(d), [&](std::int16_t* to) HWY_ATTR {
    hn::Vec<decltype(d)> low, high;
    values.next(low, high);
    hn::StoreU(low, d, to);
    hn::StoreU(high, d, to + hn::Lanes(d));
  });
}

void fill_normal_f32(float* dst, std::size_t count, const NormalNoise& noise,
                     std::uint32_t first_word, float scale) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::int16_t, decltype(d)> dh;
  const hn::ScalableTag<std::int16_t> d16;
  const std::size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, scale);
  NormalValues values(noise, first_word);
  fill<HWY_MAX_BYTES>(dst, count, 4 * lanes, [&](float* to) HWY_ATTR {
    hn::Vec<decltype(d16)> low, high;
    values.next(low, high);
    const auto store = [&](auto half, float* at) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::PromoteTo(di, half)), factor), d, at);
    };
    store(hn::LowerHalf(dh, low), to);
    store(hn::UpperHalf(dh, low), to + lanes);
    store(hn::LowerHalf(dh, high), to + 2 * lanes);
    store(hn::UpperHalf(dh, high), to + 3 * lanes);
  });
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(fill_bits_u32);
HWY_EXPORT(fill_uniform_f32);
HWY_EXPORT(fill_signed_f32);
HWY_EXPORT(fill_normal_i16);
HWY_EXPORT(fill_normal_f32);

void fill_bits(std::uint32_t* dst, std::size_t count, NoiseStream stream, std::uint32_t first) {
  HWY_DYNAMIC_DISPATCH(fill_bits_u32)(dst, count, stream, first);
}
void fill_uniform(float* dst, std::size_t count, NoiseStream stream, std::uint32_t first) {
  HWY_DYNAMIC_DISPATCH(fill_uniform_f32)(dst, count, stream, first);
}
void fill_signed(float* dst, std::size_t count, NoiseStream stream, std::uint32_t first) {
  HWY_DYNAMIC_DISPATCH(fill_signed_f32)(dst, count, stream, first);
}
void fill_normal(std::int16_t* dst, std::size_t count, const NormalNoise& noise,
                 std::uint32_t first_word) {
  HWY_DYNAMIC_DISPATCH(fill_normal_i16)(dst, count, noise, first_word);
}
void fill_normal(float* dst, std::size_t count, const NormalNoise& noise, std::uint32_t first_word,
                 float scale) {
  HWY_DYNAMIC_DISPATCH(fill_normal_f32)(dst, count, noise, first_word, scale);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
