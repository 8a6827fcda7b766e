// sluice/aug/kernels/snow.cpp - lightness of dark pixels raised in HLS, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/snow.h"

#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/snow.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // compiles this file once per target and must come first
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

using I16 = hn::ScalableTag<std::int16_t>;
using V16 = hn::Vec<I16>;

/// numerator / denominator in steps of 2^-13.
HWY_INLINE V16 ratio_q13(V16 numerator, V16 denominator) {
  const I16 d;
  const hn::Half<I16> half;
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto part = [&](auto top, auto bottom) HWY_ATTR {
    const auto n = hn::ConvertTo(df, hn::PromoteTo(di, top));
    const auto x = hn::ConvertTo(df, hn::PromoteTo(di, bottom));
    const auto guess = hn::ApproximateReciprocal(x);
    const auto better = hn::Mul(guess, hn::NegMulAdd(x, guess, hn::Set(df, 2.0F)));
    return hn::DemoteTo(half, hn::NearestInt(hn::Mul(hn::Mul(n, better), hn::Set(df, 8192.0F))));
  };
  return hn::Combine(d, part(hn::UpperHalf(half, numerator), hn::UpperHalf(half, denominator)),
                     part(hn::LowerHalf(half, numerator), hn::LowerHalf(half, denominator)));
}

/// Mean of both, rounded as OpenCV's single precision does. Max keeps the compiler from fusing a
/// product with the sum, which would round otherwise.
HWY_INLINE V16 lightness(V16 most, V16 least) {
  const I16 d;
  const hn::Half<I16> half;
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto share = [&](auto x) HWY_ATTR {
    const auto level = hn::ConvertTo(df, hn::PromoteTo(di, x));
    return hn::Max(hn::Mul(level, hn::Set(df, 1.0F / 255)), hn::Zero(df));
  };
  const auto part = [&](auto x, auto y) HWY_ATTR {
    const auto mean = hn::Mul(hn::Add(share(x), share(y)), hn::Set(df, 0.5F));
    return hn::DemoteTo(half, hn::NearestInt(hn::Mul(mean, hn::Set(df, 255.0F))));
  };
  return hn::Combine(d, part(hn::UpperHalf(half, most), hn::UpperHalf(half, least)),
                     part(hn::LowerHalf(half, most), hn::LowerHalf(half, least)));
}

/// New colours of pixels, given their largest and smallest channels.
class Bleach {
 public:
  HWY_INLINE Bleach(V16 most, V16 least, V16 limit) : sum_(hn::Add(most, least)) {
    const I16 d;
    const auto light = lightness(most, least);
    dark_ = hn::Lt(light, limit);
    const auto raised =
        hn::Min(hn::ShiftRight<1>(hn::Add(hn::ShiftLeft<2>(light), light)), hn::Set(d, 255));
    const auto reach =
        hn::Sub(hn::Set(d, 255), hn::Abs(hn::Sub(hn::Add(raised, raised), hn::Set(d, 255))));
    scale_ = ratio_q13(reach, hn::Max(sum_, hn::Set(d, 1)));
    base_ = hn::Add(hn::ShiftLeft<5>(raised), hn::Set(d, 16));
  }
  /// raised + (2 x - sum) * reach / (2 sum), or x where it was light.
  HWY_INLINE V16 of(V16 x) const {
    const auto off = hn::ShiftLeft<6>(hn::Sub(hn::Add(x, x), sum_));
    const auto value = hn::ShiftRight<5>(hn::Add(base_, hn::MulFixedPoint15(off, scale_)));
    return hn::IfThenElse(dark_, value, x);
  }

 private:
  V16 sum_, scale_, base_;
  hn::Mask<I16> dark_;
};

void snow_u8(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels, std::int16_t limit) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto below = hn::Set(I16(), limit);
  const std::size_t lanes = hn::Lanes(d);
  each_vector(dst, src, 3 * pixels, 3 * lanes,
              [&](std::uint8_t* to, const std::uint8_t* from, std::size_t) HWY_ATTR {
                hn::Vec<decltype(d)> r, g, b;
                hn::LoadInterleaved3(d, from, r, g, b);
                const auto most = hn::Max(r, hn::Max(g, b)), least = hn::Min(r, hn::Min(g, b));
                const Bleach low(lower_i16(most), lower_i16(least), below);
                const Bleach high(upper_i16(most), upper_i16(least), below);
                const auto colour = [&](auto x) HWY_ATTR {
                  return join_u8(low.of(lower_i16(x)), high.of(upper_i16(x)));
                };
                hn::StoreInterleaved3(colour(r), colour(g), colour(b), d, to);
              });
}

void snow_f32(float* dst, const float* src, std::size_t pixels, float limit) {
  const hn::ScalableTag<float> d;
  const auto one = hn::Set(d, 1.0F), half = hn::Set(d, 0.5F), below = hn::Set(d, limit);
  const auto reach = [&](auto light) HWY_ATTR {
    return hn::Sub(one, hn::Abs(hn::Sub(hn::Add(light, light), one)));
  };
  each_vector(dst, src, 3 * pixels, 3 * hn::Lanes(d),
              [&](float* to, const float* from, std::size_t) HWY_ATTR {
                hn::Vec<decltype(d)> r, g, b;
                hn::LoadInterleaved3(d, from, r, g, b);
                const auto light =
                    hn::Mul(half, hn::Add(hn::Max(r, hn::Max(g, b)), hn::Min(r, hn::Min(g, b))));
                const auto dark = hn::Lt(light, below);
                const auto raised = hn::Min(hn::Mul(light, hn::Set(d, 2.5F)), one);
                const auto scale =
                    hn::Div(reach(raised), hn::Max(reach(light), hn::Set(d, 1e-20F)));
                const auto colour = [&](auto x) HWY_ATTR {
                  return hn::IfThenElse(dark, hn::MulAdd(hn::Sub(x, light), scale, raised), x);
                };
                hn::StoreInterleaved3(colour(r), colour(g), colour(b), d, to);
              });
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(snow_u8);
HWY_EXPORT(snow_f32);

void snow(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels, double limit) {
  HWY_DYNAMIC_DISPATCH(snow_u8)(dst, src, pixels, static_cast<std::int16_t>(std::ceil(limit)));
}
void snow(float* dst, const float* src, std::size_t pixels, double limit) {
  HWY_DYNAMIC_DISPATCH(snow_f32)(dst, src, pixels, static_cast<float>(limit / 255));
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
