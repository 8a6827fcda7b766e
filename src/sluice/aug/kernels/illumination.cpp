// sluice/aug/kernels/illumination.cpp - samples times a factor that varies over the image, compiled
// once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/illumination.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/illumination.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // compiles this file once per target and must come first
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

void cone_factors_i16(std::int16_t* dst, std::size_t width, float centre, float dy, float slope) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::int16_t, decltype(d)> dh;
  const std::size_t lanes = hn::Lanes(d);
  const auto height = hn::Set(d, dy * dy);
  const auto one = hn::Set(d, static_cast<float>(kFactorOne));
  const auto scale = hn::Set(d, slope * static_cast<float>(kFactorOne));
  const auto step = hn::Set(d, static_cast<float>(lanes));
  auto dx = hn::Sub(hn::Iota(d, 0), hn::Set(d, centre));
  for (std::size_t x = 0; x < width; x += lanes) {
    const auto distance = hn::Sqrt(hn::MulAdd(dx, dx, height));
    const auto factor = hn::NearestInt(hn::MulAdd(distance, scale, one));
    hn::StoreU(hn::DemoteTo(dh, hn::BitCast(di, factor)), dh, dst + x);
    dx = hn::Add(dx, step);
  }
}

void cone_factors_f32(float* dst, std::size_t width, float centre, float dy, float slope) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto height = hn::Set(d, dy * dy);
  const auto one = hn::Set(d, 1.0F), scale = hn::Set(d, slope);
  const auto step = hn::Set(d, static_cast<float>(lanes));
  auto dx = hn::Sub(hn::Iota(d, 0), hn::Set(d, centre));
  for (std::size_t x = 0; x < width; x += lanes) {
    hn::StoreU(hn::MulAdd(hn::Sqrt(hn::MulAdd(dx, dx, height)), scale, one), d, dst + x);
    dx = hn::Add(dx, step);
  }
}

/// floor(x * f / 2^14): x with seven fraction bits times f leaves six.
template <class V>
HWY_INLINE V scaled(V x, V factor) {
  return hn::ShiftRight<6>(hn::MulFixedPoint15(hn::ShiftLeft<7>(x), factor));
}

void scale_samples_u8(std::uint8_t* dst, const std::uint8_t* src, const std::int16_t* factors,
                      std::size_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const hn::ScalableTag<std::int16_t> d16;
  each_vector(dst, src, count, hn::Lanes(d),
              [&](std::uint8_t* to, const std::uint8_t* from, std::size_t i) HWY_ATTR {
                const auto x = hn::LoadU(d, from);
                const auto low = hn::LoadU(d16, factors + i);
                const auto high = hn::LoadU(d16, factors + i + hn::Lanes(d16));
                hn::StoreU(join_u8(scaled(lower_i16(x), low), scaled(upper_i16(x), high)), d, to);
              });
}

void scale_samples_f32(float* dst, const float* src, const float* factors, std::size_t count) {
  const hn::ScalableTag<float> d;
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0F);
  each_vector(dst, src, count, hn::Lanes(d),
              [&](float* to, const float* from, std::size_t i) HWY_ATTR {
                const auto product = hn::Mul(hn::LoadU(d, from), hn::LoadU(d, factors + i));
                hn::StoreU(hn::Min(hn::Max(product, zero), one), d, to);
              });
}

void scale_by_profile_u8(std::uint8_t* dst, const std::uint8_t* src, const std::int16_t* profile,
                         std::int16_t amplitude, std::size_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const hn::ScalableTag<std::int16_t> d16;
  const auto one = hn::Set(d16, static_cast<std::int16_t>(kFactorOne));
  const auto strength = hn::Set(d16, amplitude);
  each_vector(dst, src, count, hn::Lanes(d),
              [&](std::uint8_t* to, const std::uint8_t* from, std::size_t i) HWY_ATTR {
                const auto x = hn::LoadU(d, from);
                const auto factor = [&](std::size_t at) HWY_ATTR {
                  return hn::Add(one, hn::MulFixedPoint15(hn::LoadU(d16, profile + at), strength));
                };
                hn::StoreU(join_u8(scaled(lower_i16(x), factor(i)),
                                   scaled(upper_i16(x), factor(i + hn::Lanes(d16)))),
                           d, to);
              });
}

void scale_by_profile_f32(float* dst, const float* src, const float* profile, float amplitude,
                          std::size_t count) {
  const hn::ScalableTag<float> d;
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0F), strength = hn::Set(d, amplitude);
  each_vector(dst, src, count, hn::Lanes(d),
              [&](float* to, const float* from, std::size_t i) HWY_ATTR {
                const auto factor = hn::MulAdd(hn::LoadU(d, profile + i), strength, one);
                const auto product = hn::Mul(hn::LoadU(d, from), factor);
                hn::StoreU(hn::Min(hn::Max(product, zero), one), d, to);
              });
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(cone_factors_i16);
HWY_EXPORT(cone_factors_f32);
HWY_EXPORT(scale_samples_u8);
HWY_EXPORT(scale_samples_f32);
HWY_EXPORT(scale_by_profile_u8);
HWY_EXPORT(scale_by_profile_f32);

void cone_factors(std::int16_t* dst, std::size_t width, float centre, float dy, float slope) {
  HWY_DYNAMIC_DISPATCH(cone_factors_i16)(dst, width, centre, dy, slope);
}
void cone_factors(float* dst, std::size_t width, float centre, float dy, float slope) {
  HWY_DYNAMIC_DISPATCH(cone_factors_f32)(dst, width, centre, dy, slope);
}
void scale_samples(std::uint8_t* dst, const std::uint8_t* src, const std::int16_t* factors,
                   std::size_t count) {
  HWY_DYNAMIC_DISPATCH(scale_samples_u8)(dst, src, factors, count);
}
void scale_samples(float* dst, const float* src, const float* factors, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(scale_samples_f32)(dst, src, factors, count);
}
void scale_by_profile(std::uint8_t* dst, const std::uint8_t* src, const std::int16_t* profile,
                      std::int16_t amplitude, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(scale_by_profile_u8)(dst, src, profile, amplitude, count);
}
void scale_by_profile(float* dst, const float* src, const float* profile, float amplitude,
                      std::size_t count) {
  HWY_DYNAMIC_DISPATCH(scale_by_profile_f32)(dst, src, profile, amplitude, count);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
