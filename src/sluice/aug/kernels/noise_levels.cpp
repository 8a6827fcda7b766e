// sluice/aug/kernels/noise_levels.cpp - normal noise in levels and rows of levels, compiled once
// per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/noise_levels.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/noise_levels.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // compiles this file once per target and must come first
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/random-inl.h"
#include "sluice/aug/kernels/row-inl.h"

#ifndef SLUICE_AUG_LEVEL_SCALE_
#define SLUICE_AUG_LEVEL_SCALE_
namespace sluice::aug::kernels {
/// level = (((noise << 5) * factor >> 15) + offset) >> shift: as many fraction bits as fit.
struct LevelScale {
  std::int16_t factor;
  std::int16_t offset;  // with the half that rounds
  int shift;
};
}  // namespace sluice::aug::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

void fill_levels_i16(std::int16_t* dst, std::size_t count, const NormalNoise& noise,
                     std::uint32_t first_word, LevelScale scale) {
  const hn::ScalableTag<std::int16_t> d;
  const int shift = scale.shift;
  const std::size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, scale.factor);
  const auto offset = hn::Set(d, scale.offset);
  NormalValues values(noise, first_word);
  const auto level = [&](auto z) HWY_ATTR {
    const auto scaled = hn::MulFixedPoint15(hn::ShiftLeft<5>(z), factor);
    return hn::ShiftRightSame(hn::Add(scaled, offset), shift);
  };
  const auto step = [&](std::int16_t* to) HWY_ATTR {
    hn::Vec<decltype(d)> low, high;
    values.next(low, high);
    hn::StoreU(level(low), d, to);
    hn::StoreU(level(high), d, to + lanes);
  };
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes)
    step(dst + i);
  if (i == count) return;
  HWY_ALIGN std::int16_t rest[HWY_MAX_BYTES];
  step(rest);
  std::memcpy(dst + i, rest, (count - i) * sizeof(std::int16_t));
}

void add_levels_u8(std::uint8_t* dst, const std::uint8_t* src, const std::int16_t* levels,
                   std::size_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const hn::ScalableTag<std::int16_t> d16;
  each_vector(dst, src, count, hn::Lanes(d),
              [&](std::uint8_t* to, const std::uint8_t* from, std::size_t i) HWY_ATTR {
                const auto x = hn::LoadU(d, from);
                const auto low = hn::Add(lower_i16(x), hn::LoadU(d16, levels + i));
                const auto high =
                    hn::Add(upper_i16(x), hn::LoadU(d16, levels + i + hn::Lanes(d16)));
                hn::StoreU(join_u8(low, high), d, to);
              });
}

void add_levels_f32(float* dst, const float* src, const float* levels, std::size_t count) {
  const hn::ScalableTag<float> d;
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0F);
  each_vector(dst, src, count, hn::Lanes(d),
              [&](float* to, const float* from, std::size_t i) HWY_ATTR {
                const auto sum = hn::Add(hn::LoadU(d, from), hn::LoadU(d, levels + i));
                hn::StoreU(hn::Min(hn::Max(sum, zero), one), d, to);
              });
}

void add_level_u8(std::uint8_t* dst, const std::uint8_t* src, std::size_t count, int level) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto more = hn::Set(d, static_cast<std::uint8_t>(std::clamp(level, 0, 255)));
  const auto less = hn::Set(d, static_cast<std::uint8_t>(std::clamp(-level, 0, 255)));
  each_vector(dst, src, count, 4 * lanes,
              [&](std::uint8_t* to, const std::uint8_t* from, std::size_t) HWY_ATTR {
                for (std::size_t k = 0; k < 4 * lanes; k += lanes)
                  hn::StoreU(hn::SaturatedSub(hn::SaturatedAdd(hn::LoadU(d, from + k), more), less),
                             d, to + k);
              });
}

void add_level_f32(float* dst, const float* src, std::size_t count, float level) {
  const hn::ScalableTag<float> d;
  const auto more = hn::Set(d, level);
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0F);
  each_vector(dst, src, count, hn::Lanes(d),
              [&](float* to, const float* from, std::size_t) HWY_ATTR {
                hn::StoreU(hn::Min(hn::Max(hn::Add(hn::LoadU(d, from), more), zero), one), d, to);
              });
}

void add_layer_u8(std::uint8_t* dst, const std::uint8_t* src, const std::uint8_t* layer,
                  std::size_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  each_vector(dst, src, count, hn::Lanes(d),
              [&](std::uint8_t* to, const std::uint8_t* from, std::size_t i) HWY_ATTR {
                hn::StoreU(hn::SaturatedAdd(hn::LoadU(d, from), hn::LoadU(d, layer + i)), d, to);
              });
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(fill_levels_i16);
HWY_EXPORT(add_levels_u8);
HWY_EXPORT(add_levels_f32);
HWY_EXPORT(add_level_u8);
HWY_EXPORT(add_level_f32);
HWY_EXPORT(add_layer_u8);

void fill_levels(std::int16_t* dst, std::size_t count, const NormalNoise& noise,
                 std::uint32_t first_word, double scale, double offset) {
  int shift = 6;  // the largest sum must stay below 2^15
  while (shift > 0 &&
         (kNormalLargest * scale + std::abs(offset) + 1) * std::ldexp(1.0, shift) > 32767)
    --shift;
  while (shift > 0 && std::ldexp(scale, shift + 10) > 32767)
    --shift;
  const double half = shift > 0 ? std::ldexp(0.5, shift) : 0;
  const LevelScale fixed{static_cast<std::int16_t>(std::lround(std::ldexp(scale, shift + 10))),
                         static_cast<std::int16_t>(std::lround(std::ldexp(offset, shift) + half)),
                         shift};
  HWY_DYNAMIC_DISPATCH(fill_levels_i16)(dst, count, noise, first_word, fixed);
}
void add_levels(std::uint8_t* dst, const std::uint8_t* src, const std::int16_t* levels,
                std::size_t count) {
  HWY_DYNAMIC_DISPATCH(add_levels_u8)(dst, src, levels, count);
}
void add_levels(float* dst, const float* src, const float* levels, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(add_levels_f32)(dst, src, levels, count);
}
void add_level(std::uint8_t* dst, const std::uint8_t* src, std::size_t count, int level) {
  HWY_DYNAMIC_DISPATCH(add_level_u8)(dst, src, count, level);
}
void add_level(float* dst, const float* src, std::size_t count, float level) {
  HWY_DYNAMIC_DISPATCH(add_level_f32)(dst, src, count, level);
}
void add_layer(std::uint8_t* dst, const std::uint8_t* src, const std::uint8_t* layer,
               std::size_t count) {
  HWY_DYNAMIC_DISPATCH(add_layer_u8)(dst, src, layer, count);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
