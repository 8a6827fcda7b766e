// sluice/aug/kernels/jpeg_colour.cpp - BGR rows to YCbCr with averaged chroma and back, compiled
// once per instruction set. Pixels are taken in pairs: a 16-bit lane holds the even one in its low
// byte and the odd one in its high byte, so that averaging and upsampling need no shuffles.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/jpeg.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/jpeg_colour.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/aug/kernels/widening-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DU8 = hn::ScalableTag<std::uint8_t>;
using DU16 = hn::ScalableTag<std::uint16_t>;
using U8 = hn::Vec<DU8>;
using U16 = hn::Vec<DU16>;

HWY_INLINE U16 even(U8 v) {
  return hn::And(hn::BitCast(DU16(), v), hn::Set(DU16(), 255));
}
HWY_INLINE U16 odd(U8 v) {
  return hn::ShiftRight<8>(hn::BitCast(DU16(), v));
}
HWY_INLINE U8 pairs(U16 even_pixels, U16 odd_pixels) {
  return hn::BitCast(DU8(), hn::Or(even_pixels, hn::ShiftLeft<8>(odd_pixels)));
}

/// (256 * (a * kA + b * kB + c * kC) + a * la + b * lb + c * lc + 256 * kRound + kLow) / 2^16,
/// rounded down: 16-bit weights in bytes, every sum within 16 bits.
template <int kA, int kB, int kC, int la, int lb, int lc, int kRound, int kLow>
HWY_INLINE U16 weighted(U16 a, U16 b, U16 c) {
  const DU16 d;
  const auto by = [&](U16 v, int k)
                      HWY_ATTR { return hn::Mul(v, hn::Set(d, static_cast<std::uint16_t>(k))); };
  const auto high = hn::Add(hn::Add(by(a, kA), by(b, kB)), by(c, kC));
  auto low = hn::Add(by(a, la), by(b, lb));
  if constexpr (lc != 0) low = hn::Add(low, by(c, lc));
  if constexpr (kLow != 0) low = hn::Add(low, hn::Set(d, kLow));
  return hn::ShiftRight<8>(hn::Add(hn::Add(high, hn::Set(d, kRound)), hn::ShiftRight<8>(low)));
}
/// 19595 r + 38470 g + 7471 b + 32768.
HWY_INLINE U16 luma_of(U16 r, U16 g, U16 b) {
  return weighted<76, 150, 29, 139, 70, 47, 128, 0>(r, g, b);
}
/// 11059 (255 - r) + 21709 (255 - g) + 32768 b + 65535: the signs of the definition are in the
/// complements, its centre in the constant.
HWY_INLINE U16 cb_of(U16 not_r, U16 not_g, U16 b) {
  return weighted<43, 84, 128, 51, 205, 0, 255, 255>(not_r, not_g, b);
}
/// 27439 (255 - g) + 5329 (255 - b) + 32768 r + 65535.
HWY_INLINE U16 cr_of(U16 not_g, U16 not_b, U16 r) {
  return weighted<107, 20, 128, 47, 209, 0, 255, 255>(not_g, not_b, r);
}

/// One vector of pixels; adds the chroma of pairs.
HWY_INLINE void convert_row(std::uint8_t* luma, U16& cb, U16& cr, const std::uint8_t* bgr) {
  const DU8 d;
  U8 b, g, r;
  hn::LoadInterleaved3(d, bgr, b, g, r);
  const U16 b0 = even(b), b1 = odd(b), g0 = even(g), g1 = odd(g), r0 = even(r), r1 = odd(r);
  hn::StoreU(pairs(luma_of(r0, g0, b0), luma_of(r1, g1, b1)), d, luma);
  const U8 nb = hn::Not(b), ng = hn::Not(g), nr = hn::Not(r);
  const U16 ng0 = even(ng), ng1 = odd(ng);
  cb = hn::Add(cb, hn::Add(cb_of(even(nr), ng0, b0), cb_of(odd(nr), ng1, b1)));
  cr = hn::Add(cr, hn::Add(cr_of(ng0, even(nb), r0), cr_of(ng1, odd(nb), r1)));
}

void to_ycc(std::uint8_t* luma0, std::uint8_t* luma1, std::uint8_t* cb, std::uint8_t* cr,
            const std::uint8_t* bgr0, const std::uint8_t* bgr1, std::size_t width) {
  const DU16 d;
  const hn::Rebind<std::uint8_t, DU16> d8;
  const std::size_t step = hn::Lanes(DU8());
  const auto bias =  // ties alternate: 1, 2, 1, 2
      hn::BitCast(d, hn::Set(hn::ScalableTag<std::uint32_t>(), 0x00020001U));
  const auto convert = [&](std::size_t x, const std::uint8_t* row0,
                           const std::uint8_t* row1) HWY_ATTR {
    U16 blue = bias, red = bias;
    convert_row(luma0 + x, blue, red, row0);
    convert_row(luma1 + x, blue, red, row1);
    hn::StoreU(hn::DemoteTo(d8, hn::BitCast(DS16(), hn::ShiftRight<2>(blue))), d8, cb + x / 2);
    hn::StoreU(hn::DemoteTo(d8, hn::BitCast(DS16(), hn::ShiftRight<2>(red))), d8, cr + x / 2);
  };
  std::size_t x = 0;
  for (; x + step <= width; x += step)
    convert(x, bgr0 + 3 * x, bgr1 + 3 * x);
  if (x == width) return;
  std::uint8_t last[2][3 * HWY_MAX_BYTES];
  for (std::size_t i = 0; i < step; ++i) {
    const std::size_t from = 3 * std::min(x + i, width - 1);
    std::memcpy(last[0] + 3 * i, bgr0 + from, 3);
    std::memcpy(last[1] + 3 * i, bgr1 + from, 3);
  }
  convert(x, last[0], last[1]);
}

/// y + chroma; all in 16 bits, 0 to 255.
HWY_INLINE void bgr_of(U16& b, U16& g, U16& r, U16 luma, U16 cb, U16 cr) {
  const DS16 d;
  const auto centre = hn::Set(d, 128);
  const S16 y = hn::BitCast(d, luma);
  const S16 blue = hn::Sub(hn::BitCast(d, cb), centre);
  const S16 red = hn::Sub(hn::BitCast(d, cr), centre);
  const auto clip = [&](S16 v) HWY_ATTR {
    return hn::BitCast(DU16(), hn::Min(hn::Max(v, hn::Zero(d)), hn::Set(d, 255)));
  };
  // In 1/65536: 116130 = 131072 - 14942, -46802 = 18734 - 65536, 91881 = 65536 + 26345. Rounded
  // products with 1/32768 are the same: half of 14942 is whole, and 13173 for 13172.5 changes none
  // of the 256.
  b = clip(hn::Add(hn::Add(y, hn::Add(blue, blue)), hn::MulFixedPoint15(blue, hn::Set(d, -7471))));
  g = clip(hn::Add(hn::Sub(y, red), descaled<16>(products<-22554, 18734>(blue, red))));
  r = clip(hn::Add(hn::Add(y, red), hn::MulFixedPoint15(red, hn::Set(d, 13173))));
}

/// 3/4 of the row here and 1/4 of its neighbour, times 4; the ends are repeated once.
void sum_rows(std::uint16_t* sums, const std::uint8_t* here, const std::uint8_t* other,
              std::size_t count) {
  const DU16 d;
  const hn::Rebind<std::uint8_t, DU16> d8;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const U16 near = hn::PromoteTo(d, hn::LoadU(d8, here + i));
    const U16 far = hn::PromoteTo(d, hn::LoadU(d8, other + i));
    hn::StoreU(hn::Add(hn::Add(near, far), hn::Add(near, near)), d, sums + i);
  }
  sums[-1] = sums[0];
  sums[count] = sums[count - 1];
}

/// One vector of pixels from pairs of luma and sums of chroma at their index.
HWY_INLINE void convert_back(std::uint8_t* bgr, const std::uint8_t* luma, const std::uint16_t* cb,
                             const std::uint16_t* cr) {
  const DU16 d;
  const auto at = [&](const std::uint16_t* sums, std::ptrdiff_t neighbour, int round) HWY_ATTR {
    const U16 here = hn::LoadU(d, sums);
    const U16 next =
        hn::Add(hn::LoadU(d, sums + neighbour), hn::Set(d, static_cast<std::uint16_t>(round)));
    return hn::ShiftRight<4>(hn::Add(hn::Add(here, next), hn::Add(here, here)));
  };
  const U8 y = hn::LoadU(DU8(), luma);
  U16 b0, b1, g0, g1, r0, r1;
  bgr_of(b0, g0, r0, even(y), at(cb, -1, 8), at(cr, -1, 8));
  bgr_of(b1, g1, r1, odd(y), at(cb, 1, 7), at(cr, 1, 7));
  hn::StoreInterleaved3(pairs(b0, b1), pairs(g0, g1), pairs(r0, r1), DU8(), bgr);
}

/// Too narrow to smooth: samples are repeated. Sums so made give back the sample at both pixels.
void narrow_row(std::uint8_t* bgr, const std::uint8_t* luma, const std::uint8_t* cb,
                const std::uint8_t* cr, std::size_t width) {
  std::uint8_t levels[HWY_MAX_BYTES] = {};
  std::memcpy(levels, luma, width);
  std::uint8_t out[3 * HWY_MAX_BYTES];
  for (std::size_t i = 0; i < (width + 1) / 2; ++i) {
    std::uint16_t blue[2 + HWY_MAX_BYTES], red[2 + HWY_MAX_BYTES];
    std::fill(std::begin(blue), std::end(blue), static_cast<std::uint16_t>(4 * cb[i]));
    std::fill(std::begin(red), std::end(red), static_cast<std::uint16_t>(4 * cr[i]));
    convert_back(out, levels, blue + 1, red + 1);
    std::memcpy(bgr + 6 * i, out + 6 * i, 3 * std::min<std::size_t>(2, width - 2 * i));
  }
}

void from_ycc(std::uint8_t* bgr0, std::uint8_t* bgr1, const std::uint8_t* luma0,
              const std::uint8_t* luma1, const ChromaRows& cb, const ChromaRows& cr,
              std::size_t width, std::uint16_t* sums) {
  const std::size_t count = (width + 1) / 2;
  if (count <= 2) {
    narrow_row(bgr0, luma0, cb.here, cr.here, width);
    narrow_row(bgr1, luma1, cb.here, cr.here, width);
    return;
  }
  const std::size_t step = hn::Lanes(DU8());
  std::uint16_t* const blue = sums + 32;
  std::uint16_t* const red = blue + jpeg_sums(width) / 4;
  const auto row = [&](std::uint8_t* bgr, const std::uint8_t* luma, const std::uint8_t* blue_far,
                       const std::uint8_t* red_far) HWY_ATTR {
    sum_rows(blue, cb.here, blue_far, count);
    sum_rows(red, cr.here, red_far, count);
    std::size_t x = 0;
    for (; x + step <= width; x += step)
      convert_back(bgr + 3 * x, luma + x, blue + x / 2, red + x / 2);
    if (x == width) return;
    std::uint8_t last[3 * HWY_MAX_BYTES];
    convert_back(last, luma + x, blue + x / 2, red + x / 2);
    std::memcpy(bgr + 3 * x, last, 3 * (width - x));
  };
  row(bgr0, luma0, cb.above, cr.above);
  row(bgr1, luma1, cb.below, cr.below);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(to_ycc);
HWY_EXPORT(from_ycc);

void jpeg_to_ycc(std::uint8_t* luma0, std::uint8_t* luma1, std::uint8_t* cb, std::uint8_t* cr,
                 const std::uint8_t* bgr0, const std::uint8_t* bgr1, std::size_t width) {
  HWY_DYNAMIC_DISPATCH(to_ycc)(luma0, luma1, cb, cr, bgr0, bgr1, width);
}
void jpeg_from_ycc(std::uint8_t* bgr0, std::uint8_t* bgr1, const std::uint8_t* luma0,
                   const std::uint8_t* luma1, const ChromaRows& cb, const ChromaRows& cr,
                   std::size_t width, std::uint16_t* sums) {
  HWY_DYNAMIC_DISPATCH(from_ycc)(bgr0, bgr1, luma0, luma1, cb, cr, width, sums);
}

namespace {

std::uint8_t level_of(std::uint8_t sample) {
  return sample;
}
std::uint8_t level_of(float sample) {
  return static_cast<std::uint8_t>(std::nearbyint(std::clamp(sample * 255.0F, 0.0F, 255.0F)));
}
template <class T>
T sample_of(std::uint8_t level) {
  if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(level) * (1.0F / 255.0F);
  else
    return level;
}

template <class T>
void gather_colour(std::uint8_t* dst, const T* src, std::size_t width, int channels) {
  const auto apart = static_cast<std::size_t>(channels);
  for (std::size_t x = 0; x < width; ++x, src += apart, dst += 3) {
    dst[0] = level_of(src[0]);
    dst[1] = level_of(src[1]);
    dst[2] = channels == 2 ? std::uint8_t{0} : level_of(src[2]);
  }
}
template <class T>
void scatter_colour(T* dst, const std::uint8_t* src, std::size_t width, int channels) {
  const auto apart = static_cast<std::size_t>(channels);
  for (std::size_t x = 0; x < width; ++x, dst += apart, src += 3) {
    dst[0] = sample_of<T>(src[0]);
    dst[1] = sample_of<T>(src[1]);
    if (channels > 2) dst[2] = sample_of<T>(src[2]);
  }
}
template <class T>
void gather_grey(std::uint8_t* dst, const T* src, std::size_t width, int channels) {
  for (std::size_t x = 0; x < width; ++x)
    dst[x] = level_of(src[x * static_cast<std::size_t>(channels)]);
  std::memset(dst + width, dst[width - 1], (width + 63) / 64 * 64 - width);
}
template <class T>
void scatter_grey(T* dst, const std::uint8_t* src, std::size_t width, int channels) {
  for (std::size_t x = 0; x < width; ++x)
    dst[x * static_cast<std::size_t>(channels)] = sample_of<T>(src[x]);
}

}  // namespace

void jpeg_gather_colour(std::uint8_t* dst, const std::uint8_t* src, std::size_t width,
                        int channels) {
  gather_colour(dst, src, width, channels);
}
void jpeg_gather_colour(std::uint8_t* dst, const float* src, std::size_t width, int channels) {
  gather_colour(dst, src, width, channels);
}
void jpeg_scatter_colour(std::uint8_t* dst, const std::uint8_t* src, std::size_t width,
                         int channels) {
  scatter_colour(dst, src, width, channels);
}
void jpeg_scatter_colour(float* dst, const std::uint8_t* src, std::size_t width, int channels) {
  scatter_colour(dst, src, width, channels);
}
void jpeg_gather_grey(std::uint8_t* dst, const std::uint8_t* src, std::size_t width, int channels) {
  gather_grey(dst, src, width, channels);
}
void jpeg_gather_grey(std::uint8_t* dst, const float* src, std::size_t width, int channels) {
  gather_grey(dst, src, width, channels);
}
void jpeg_scatter_grey(std::uint8_t* dst, const std::uint8_t* src, std::size_t width,
                       int channels) {
  scatter_grey(dst, src, width, channels);
}
void jpeg_scatter_grey(float* dst, const std::uint8_t* src, std::size_t width, int channels) {
  scatter_grey(dst, src, width, channels);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
