// sluice/aug/kernels/grey.cpp - pixels of several channels to grey ones, compiled once per
// instruction set. Versions and timings: bench/kernels/pointwise.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/grey.h"

#include "sluice/aug/kernels/ahead.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/grey.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <array>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::FixedTag<std::uint8_t, 16>;
using Pairs = hn::FixedTag<std::uint16_t, 8>;
using V = hn::Vec<Bytes>;
constexpr std::size_t kGreyLanes = 16;

// The 15-bit weights in two bytes each: sums of the high and of the low bytes both fit 16 bits, and
// what the low ones carry is all that is needed of them: 2^14 is 64 * 2^8.
constexpr std::uint8_t kHigh[3] = {9798 >> 8, 19235 >> 8, 3735 >> 8};
constexpr std::uint8_t kLow[3] = {9798 & 255, 19235 & 255, 3735 & 255};
static_assert(kLow[0] + kLow[1] + kLow[2] <= 256 && kHigh[0] + kHigh[1] + kHigh[2] <= 127);

HWY_INLINE V weighted(V r, V g, V b) {
#if HWY_TARGET == HWY_NEON
  const uint8x16_t h0 = vdupq_n_u8(kHigh[0]), h1 = vdupq_n_u8(kHigh[1]), h2 = vdupq_n_u8(kHigh[2]);
  const uint8x16_t l0 = vdupq_n_u8(kLow[0]), l1 = vdupq_n_u8(kLow[1]), l2 = vdupq_n_u8(kLow[2]);
  const auto lower = [&](uint8x16_t w0, uint8x16_t w1, uint8x16_t w2) HWY_ATTR {
    const uint16x8_t sum = vmlal_u8(vmull_u8(vget_low_u8(r.raw), vget_low_u8(w0)),
                                    vget_low_u8(g.raw), vget_low_u8(w1));
    return vmlal_u8(sum, vget_low_u8(b.raw), vget_low_u8(w2));
  };
  const auto upper = [&](uint8x16_t w0, uint8x16_t w1, uint8x16_t w2) HWY_ATTR {
    return vmlal_high_u8(vmlal_high_u8(vmull_high_u8(r.raw, w0), g.raw, w1), b.raw, w2);
  };
  const uint16x8_t low = vsraq_n_u16(lower(h0, h1, h2), lower(l0, l1, l2), 8);
  const uint16x8_t high = vsraq_n_u16(upper(h0, h1, h2), upper(l0, l1, l2), 8);
  return V(vrshrn_high_n_u16(vrshrn_n_u16(low, 7), high, 7));
#else
  const Pairs d;
  const auto half = [&](auto x, auto y, auto z) HWY_ATTR {
    const auto high =
        hn::Add(hn::Add(hn::Mul(x, hn::Set(d, kHigh[0])), hn::Mul(y, hn::Set(d, kHigh[1]))),
                hn::Add(hn::Mul(z, hn::Set(d, kHigh[2])), hn::Set(d, 64)));
    const auto low =
        hn::Add(hn::Add(hn::Mul(x, hn::Set(d, kLow[0])), hn::Mul(y, hn::Set(d, kLow[1]))),
                hn::Mul(z, hn::Set(d, kLow[2])));
    return hn::ShiftRight<7>(hn::Add(high, hn::ShiftRight<8>(low)));
  };
  const auto byte = hn::Set(d, 0xFF);
  const auto r2 = hn::BitCast(d, r), g2 = hn::BitCast(d, g), b2 = hn::BitCast(d, b);
  const auto even = half(hn::And(r2, byte), hn::And(g2, byte), hn::And(b2, byte));
  const auto odd = half(hn::ShiftRight<8>(r2), hn::ShiftRight<8>(g2), hn::ShiftRight<8>(b2));
  return hn::BitCast(Bytes(), hn::Or(even, hn::ShiftLeft<8>(odd)));
#endif
}

/// Which of sixteen grey bytes each of 48 is: three lookups and plain stores cost less than an
/// interleaving store.
alignas(16) constexpr std::uint8_t kThrice[48] = {
    0, 0, 0, 1, 1, 1, 2,  2,  2,  3,  3,  3,  4,  4,  4,  5,  5,  5,  6,  6,  6,  7,  7,  7,
    8, 8, 8, 9, 9, 9, 10, 10, 10, 11, 11, 11, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15};

HWY_INLINE void store_thrice(V grey, std::uint8_t* to) {
  const Bytes d;
  hn::StoreU(hn::TableLookupBytes(grey, hn::Load(d, kThrice)), d, to);
  hn::StoreU(hn::TableLookupBytes(grey, hn::Load(d, kThrice + 16)), d, to + 16);
  hn::StoreU(hn::TableLookupBytes(grey, hn::Load(d, kThrice + 32)), d, to + 32);
}

HWY_INLINE std::uint8_t grey_pixel(const std::uint8_t* x) {
  return static_cast<std::uint8_t>((9798 * x[0] + 19235 * x[1] + 3735 * x[2] + (1 << 14)) >> 15);
}

#if HWY_ARCH_X86

/// Four pixels in each 16 bytes of a vector, each spread over 32 bits, where neighbouring 16-bit
/// products are summed in one operation: red with blue, then green with what weighs nothing.
class GreyFours {
 public:
  static constexpr std::size_t kPixels = HWY_MAX_BYTES / 4;  // a step; HWY_MAX_BYTES are touched

  HWY_INLINE GreyFours() {
    const D8 d8;
    const D32 d32;
    alignas(64) std::int32_t apart[kPixels], together[kPixels] = {};
    for (std::size_t i = 0; i < kPixels; ++i) {
      apart[i] = static_cast<std::int32_t>(3 * (i / 4) + std::min<std::size_t>(i % 4, 2));
      if (i < kPixels / 4 * 3) together[i] = static_cast<std::int32_t>(4 * (i / 3) + i % 3);
    }
    apart_ = hn::SetTableIndices(d32, apart);
    together_ = hn::SetTableIndices(d32, together);
    alignas(16) static constexpr std::uint8_t kSpread[16] = {0, 1, 2, 2, 3, 4,  5,  5,
                                                             6, 7, 8, 8, 9, 10, 11, 11};
    alignas(16) static constexpr std::uint8_t kGreys[16] = {0, 0,  0,  4,  4, 4, 8, 8,
                                                            8, 12, 12, 12, 0, 0, 0, 0};
    spread_ = hn::LoadDup128(d8, kSpread);
    thrice_ = hn::LoadDup128(d8, kGreys);
    red_blue_ = hn::BitCast(d16_, hn::Set(d32, 9798 | (3735 << 16)));
    green_ = hn::BitCast(d16_, hn::Set(d32, 19235));
  }

  using D8 = hn::ScalableTag<std::uint8_t>;
  static HWY_INLINE hn::Vec<D8> load(const std::uint8_t* src) { return hn::LoadU(D8(), src); }

  /// kPixels greys in 32 bits each.
  HWY_INLINE auto greys(hn::Vec<D8> rgb) const {
    const D32 d32;
    const auto pixels = hn::BitCast(d16_, hn::TableLookupBytes(blocks(rgb, apart_), spread_));
    auto none = hn::Zero(d32);
    auto sum = hn::Set(d32, 1 << 14);
    // x86 adds the products of neighbours into the first sum
    sum = hn::ReorderWidenMulAccumulate(d32, hn::And(pixels, hn::Set(d16_, 0xFF)), red_blue_, sum,
                                        none);
    const hn::RebindToUnsigned<D16> du16;
    const auto odd = hn::BitCast(d16_, hn::ShiftRight<8>(hn::BitCast(du16, pixels)));
    sum = hn::ReorderWidenMulAccumulate(d32, odd, green_, sum, none);
    return hn::ShiftRight<15>(sum);
  }
  HWY_INLINE void three(std::uint8_t* dst, hn::Vec<D8> rgb) const {
    const D8 d8;
    const auto bytes = hn::TableLookupBytes(hn::BitCast(d8, greys(rgb)), thrice_);
    hn::StoreU(blocks(bytes, together_), d8, dst);
  }
  HWY_INLINE void one(std::uint8_t* dst, hn::Vec<D8> rgb) const {
    const hn::Rebind<std::uint8_t, D32> narrow;
    hn::StoreU(hn::DemoteTo(narrow, greys(rgb)), narrow, dst);
  }

 private:
  using D16 = hn::ScalableTag<std::int16_t>;
  using D32 = hn::ScalableTag<std::int32_t>;
  using Where = decltype(hn::SetTableIndices(D32(), static_cast<const std::int32_t*>(nullptr)));

  /// 12 bytes to each 16, or back.
  static HWY_INLINE hn::Vec<D8> blocks(hn::Vec<D8> bytes, Where where) {
    if constexpr (HWY_MAX_BYTES == 16)
      return bytes;
    else
      return hn::BitCast(D8(), hn::TableLookupLanes(hn::BitCast(D32(), bytes), where));
  }

  D16 d16_;
  Where apart_, together_;
  hn::Vec<D8> spread_, thrice_;
  hn::Vec<D16> red_blue_, green_;
};

/// The pixels that whole vectors make; dst is not src.
std::size_t grey_apart(std::uint8_t* HWY_RESTRICT dst, const std::uint8_t* HWY_RESTRICT src,
                       std::size_t pixels, int channels_out) {
  constexpr std::size_t kStep = GreyFours::kPixels;
  constexpr std::ptrdiff_t kFar = 2048;  // bytes
  const GreyFours fours;
  std::size_t p = 0;
  if (channels_out == 3)
    for (; 3 * p + HWY_MAX_BYTES <= 3 * pixels; p += kStep) {
      ask_to_read(src + 3 * p, kFar);
      ask_to_write(dst + 3 * p, kFar);
      fours.three(dst + 3 * p, GreyFours::load(src + 3 * p));
    }
  else
    for (; 3 * p + HWY_MAX_BYTES <= 3 * pixels; p += kStep) {
      ask_to_read(src + 3 * p, kFar);
      fours.one(dst + p, GreyFours::load(src + 3 * p));
    }
  return p;
}

/// A store goes beyond its pixels, over those of the next step, which are loaded before; the last
/// step writes its own pixels and no more.
std::size_t grey_in_place(std::uint8_t* rows, std::size_t pixels) {
  constexpr std::size_t kStep = GreyFours::kPixels;
  if (3 * pixels < HWY_MAX_BYTES) return 0;
  const GreyFours fours;
  std::size_t p = 0;
  auto rgb = GreyFours::load(rows);
  for (; 3 * (p + kStep) + HWY_MAX_BYTES <= 3 * pixels; p += kStep) {
    const auto next = GreyFours::load(rows + 3 * (p + kStep));
    fours.three(rows + 3 * p, rgb);
    rgb = next;
  }
  HWY_ALIGN std::uint8_t last[HWY_MAX_BYTES];
  fours.three(last, rgb);
  std::memcpy(rows + 3 * p, last, 3 * kStep);
  return p + kStep;
}

void grey_rgb_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                    int channels_out) {
  std::size_t p =
      dst == src ? grey_in_place(dst, pixels) : grey_apart(dst, src, pixels, channels_out);
  for (; p < pixels; ++p)
    std::fill_n(dst + static_cast<std::size_t>(channels_out) * p, channels_out,
                grey_pixel(src + 3 * p));
}

#else

void grey_rgb_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                    int channels_out) {
  const Bytes d;
  std::size_t p = 0;
  for (; p + kGreyLanes <= pixels; p += kGreyLanes) {
    V r, g, b;
    hn::LoadInterleaved3(d, src + 3 * p, r, g, b);
    const V grey = weighted(r, g, b);
    if (channels_out == 3)
      store_thrice(grey, dst + 3 * p);
    else
      hn::StoreU(grey, d, dst + p);
  }
  for (; p < pixels; ++p)
    std::fill_n(dst + static_cast<std::size_t>(channels_out) * p, channels_out,
                grey_pixel(src + 3 * p));
}

#endif

void grey_rgb_floats(float* dst, const float* src, std::size_t pixels, int channels_out) {
  const hn::FixedTag<float, 4> d;
  std::size_t p = 0;
  for (; p + 4 <= pixels; p += 4) {
    hn::Vec<decltype(d)> r, g, b;
    hn::LoadInterleaved3(d, src + 3 * p, r, g, b);
    const auto grey = hn::MulAdd(r, hn::Set(d, 0.299F),
                                 hn::MulAdd(g, hn::Set(d, 0.587F), hn::Mul(b, hn::Set(d, 0.114F))));
    if (channels_out == 3)
      hn::StoreInterleaved3(grey, grey, grey, d, dst + 3 * p);
    else
      hn::StoreU(grey, d, dst + p);
  }
  for (; p < pixels; ++p) {
    const float* x = src + 3 * p;
    const float grey = 0.299F * x[0] + 0.587F * x[1] + 0.114F * x[2];
    std::fill_n(dst + static_cast<std::size_t>(channels_out) * p, channels_out, grey);
  }
}

template <class T, class Sum>
HWY_INLINE void mean_plain(T* dst, const T* src, std::size_t pixels, std::size_t channels) {
  for (std::size_t p = 0; p < pixels; ++p, src += channels, dst += channels) {
    Sum sum = 0;
    for (std::size_t c = 0; c < channels; ++c)
      sum += src[c];
    std::fill_n(dst, channels, static_cast<T>(sum / static_cast<Sum>(channels)));
  }
}

/// Sixteen pixels of nine channels: triples are summed, then triples of triples.
HWY_INLINE void mean_of_nine(std::uint8_t* dst, const std::uint8_t* src) {
  const Bytes d;
  const Pairs dp;
  const hn::Half<Bytes> half;
  std::array<std::uint16_t, 48> triples;
  for (std::size_t k = 0; k < 3; ++k) {
    V a, b, c;
    hn::LoadInterleaved3(d, src + 48 * k, a, b, c);
    const auto wide = [&](V x) HWY_ATTR { return hn::PromoteTo(dp, hn::LowerHalf(half, x)); };
    const auto wide_up = [&](V x) HWY_ATTR { return hn::PromoteTo(dp, hn::UpperHalf(half, x)); };
    hn::StoreU(hn::Add(hn::Add(wide(a), wide(b)), wide(c)), dp, triples.data() + 16 * k);
    hn::StoreU(hn::Add(hn::Add(wide_up(a), wide_up(b)), wide_up(c)), dp,
               triples.data() + 16 * k + 8);
  }
  std::array<std::uint8_t, kGreyLanes> grey;
  for (std::size_t k = 0; k < 2; ++k) {
    hn::Vec<Pairs> a, b, c;
    hn::LoadInterleaved3(dp, triples.data() + 24 * k, a, b, c);
    // 7282 / 2^16 is 1/9 and less than 1/9 / 2295 more: exact for sums of nine bytes.
    const auto mean = hn::MulHigh(hn::Add(hn::Add(a, b), c), hn::Set(dp, 7282));
    const hn::RebindToSigned<Pairs> di;
    hn::StoreU(hn::DemoteTo(half, hn::BitCast(di, mean)), half, grey.data() + 8 * k);
  }
  std::array<std::uint8_t, 3 * kGreyLanes> thrice;
  store_thrice(hn::LoadU(d, grey.data()), thrice.data());
  for (std::size_t k = 0; k < 3; ++k)
    store_thrice(hn::LoadU(d, thrice.data() + kGreyLanes * k), dst + 48 * k);
}

void grey_mean_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                     std::size_t channels) {
  std::size_t p = 0;
  if (channels == 9)
    for (; p + kGreyLanes <= pixels; p += kGreyLanes)
      mean_of_nine(dst + 9 * p, src + 9 * p);
  mean_plain<std::uint8_t, std::uint32_t>(dst + channels * p, src + channels * p, pixels - p,
                                          channels);
}
void grey_mean_floats(float* dst, const float* src, std::size_t pixels, std::size_t channels) {
  mean_plain<float, float>(dst, src, pixels, channels);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(grey_rgb_bytes);
HWY_EXPORT(grey_rgb_floats);
HWY_EXPORT(grey_mean_bytes);
HWY_EXPORT(grey_mean_floats);

void grey_rgb(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels, int channels_out) {
  HWY_DYNAMIC_DISPATCH(grey_rgb_bytes)(dst, src, pixels, channels_out);
}
void grey_rgb(float* dst, const float* src, std::size_t pixels, int channels_out) {
  HWY_DYNAMIC_DISPATCH(grey_rgb_floats)(dst, src, pixels, channels_out);
}
void grey_mean(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
               std::size_t channels) {
  HWY_DYNAMIC_DISPATCH(grey_mean_bytes)(dst, src, pixels, channels);
}
void grey_mean(float* dst, const float* src, std::size_t pixels, std::size_t channels) {
  HWY_DYNAMIC_DISPATCH(grey_mean_floats)(dst, src, pixels, channels);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
