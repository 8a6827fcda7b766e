// sluice/image/resize/antialias_hwy.cpp - the antialiased resize on Highway, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/resize/antialias_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/image/resize/antialias_hwy.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::image::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using I16x8 = hn::FixedTag<std::int16_t, 8>;
using U16x8 = hn::FixedTag<std::uint16_t, 8>;
using U8x8 = hn::FixedTag<std::uint8_t, 8>;
using U8x16 = hn::FixedTag<std::uint8_t, 16>;

/// sum[i] + x[i] * weights[i] + x[i + 8] * weights[i + 8].
HWY_INLINE hn::Vec<U16x8> add_taps(hn::Vec<U16x8> sum, hn::Vec<U8x16> x, hn::Vec<U8x16> weights) {
#if HWY_TARGET == HWY_NEON  // Highway has no multiplication of bytes, NEON has
  return hn::Vec<U16x8>(vmlal_high_u8(
      vmlal_u8(sum.raw, vget_low_u8(x.raw), vget_low_u8(weights.raw)), x.raw, weights.raw));
#else
  const U16x8 d;
  const U8x8 half;
  const auto lower = hn::Mul(hn::PromoteTo(d, hn::LowerHalf(half, x)),
                             hn::PromoteTo(d, hn::LowerHalf(half, weights)));
  const auto upper = hn::Mul(hn::PromoteTo(d, hn::UpperHalf(half, x)),
                             hn::PromoteTo(d, hn::UpperHalf(half, weights)));
  return hn::Add(sum, hn::Add(lower, upper));
#endif
}

/// The same of one tap.
HWY_INLINE hn::Vec<U16x8> add_tap(hn::Vec<U16x8> sum, hn::Vec<U8x8> x, hn::Vec<U8x8> weights) {
#if HWY_TARGET == HWY_NEON
  return hn::Vec<U16x8>(vmlal_u8(sum.raw, x.raw, weights.raw));
#else
  const U16x8 d;
  return hn::Add(sum, hn::Mul(hn::PromoteTo(d, x), hn::PromoteTo(d, weights)));
#endif
}

/// Weights of eight bits: a load, a shuffle and two multiplications bring two taps to all pixels of
/// a group, in kRows rows.
template <std::size_t kTaps, std::size_t kRows>
void stretch_groups(std::int16_t* const* to, const std::uint8_t* from, std::size_t pitch,
                    const AntialiasTables& tables, std::size_t samples) {
  const U8x16 d;
  const U8x8 half;
  const std::int32_t* window = tables.windows;
  const auto* step = reinterpret_cast<const std::uint8_t*>(tables.steps);
  const auto bias = hn::Set(U16x8(), static_cast<std::uint16_t>(kBias));
  const std::size_t end = tables.groups * samples;
  std::int16_t* out[kRows];  // copies: vector stores might change what others point to
  const std::uint8_t* in[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    out[r] = to[r];
    in[r] = from + r * pitch;
  }
  for (std::size_t at = 0; at < end; at += samples) {
    hn::Vec<U16x8> sums[kRows];
    for (std::size_t r = 0; r < kRows; ++r)
      sums[r] = bias;
    for (std::size_t j = 0; j < kTaps / 2; ++j, ++window, step += sizeof(AntialiasStep)) {
      const auto pick = hn::Load(d, step);
      const auto weight = hn::Load(d, step + 16);
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto loaded = hn::LoadU(d, in[r] + *window);
        sums[r] = add_taps(sums[r], hn::TableLookupBytes(loaded, pick), weight);
      }
    }
    if constexpr (kTaps % 2 != 0) {
      const auto pick = hn::Load(d, step);
      const auto weight = hn::Load(half, step + 16);
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto loaded = hn::LoadU(d, in[r] + *window);
        sums[r] = add_tap(sums[r], hn::LowerHalf(half, hn::TableLookupBytes(loaded, pick)), weight);
      }
      ++window;
      step += sizeof(AntialiasStep);
    }
    for (std::size_t r = 0; r < kRows; ++r)
      hn::StoreU(hn::BitCast(I16x8(), sums[r]), I16x8(), out[r] + at);
  }
}

template <std::size_t kRows>
void stretch_bytes(std::int16_t* const* to, const std::uint8_t* from, std::size_t pitch,
                   const AntialiasTables& tables, std::size_t samples) {
  switch (tables.group_taps) {
    case 2:
      return stretch_groups<2, kRows>(to, from, pitch, tables, samples);
    case 3:
      return stretch_groups<3, kRows>(to, from, pitch, tables, samples);
    case 4:
      return stretch_groups<4, kRows>(to, from, pitch, tables, samples);
    case 5:
      return stretch_groups<5, kRows>(to, from, pitch, tables, samples);
    case 6:
      return stretch_groups<6, kRows>(to, from, pitch, tables, samples);
    case 7:
      return stretch_groups<7, kRows>(to, from, pitch, tables, samples);
    default:
      return stretch_groups<8, kRows>(to, from, pitch, tables, samples);
  }
}

/// Weights of 24 bits: pixel by pixel, four samples at a time; the last store of a pixel runs into
/// the next, which comes after. Returns the columns done.
std::size_t stretch_fine(std::int16_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from,
                         const AntialiasTables& tables, std::size_t channels, std::size_t row,
                         std::size_t width) {
  const hn::FixedTag<std::uint32_t, 4> d;
  const hn::FixedTag<std::uint8_t, 4> narrow;
  const hn::FixedTag<std::int32_t, 4> wide;
  const hn::FixedTag<std::int16_t, 4> out;
  const auto half = hn::Set(d, 1U << 15);
  const auto bias = hn::Set(wide, kBias);
  const std::size_t written = (channels + 3) / 4 * 4;
  std::size_t x = 0;
  for (; x < width; ++x, to += channels) {
    const auto first = static_cast<std::size_t>(tables.columns[x].first);
    const auto count = static_cast<std::size_t>(tables.columns[x].count);
    if ((first + count - 1) * channels + written > row) break;
    const std::uint8_t* pixel = from + first * channels;
    const std::uint32_t* weights = tables.fine_weights + x * tables.column_taps;
    for (std::size_t c = 0; c < written; c += 4) {
      auto sum = half;
      for (std::size_t k = 0; k < count; ++k)
        sum = hn::Add(sum, hn::Mul(hn::PromoteTo(d, hn::LoadU(narrow, pixel + k * channels + c)),
                                   hn::Set(d, weights[k])));
      const auto level = hn::BitCast(wide, hn::ShiftRight<16>(sum));
      hn::StoreU(hn::DemoteTo(out, hn::Sub(level, bias)), out, to + c);
    }
  }
  return x;
}

/// `count` rows from `row` on: 1 or kRowsAtOnce.
void stretch(std::int16_t* const* to, const ImageView<std::uint8_t>& src, int row, int count,
             const AntialiasTables& tables, std::size_t width) {
  const auto channels = static_cast<std::size_t>(src.channels());
  const std::size_t samples = tables.pixels_per_group * channels;
  const bool bytes = tables.byte_weights != nullptr;
  if (bytes && count == kRowsAtOnce)
    stretch_bytes<kRowsAtOnce>(to, src.row(row), src.pitch_bytes(), tables, samples);
  else if (bytes)
    stretch_bytes<1>(to, src.row(row), src.pitch_bytes(), tables, samples);
  for (int r = 0; r < count; ++r) {
    std::size_t done = tables.groups * tables.pixels_per_group;
    if (!bytes && channels >= 3)
      done = stretch_fine(to[r], src.row(row + r), tables, channels, src.row_samples(), width);
    stretch_antialias_plain(to[r], src.row(row + r), tables, channels, done, width);
  }
}

using Wide = hn::ScalableTag<std::int16_t>;
using Narrow = hn::Rebind<std::uint8_t, Wide>;

/// (sum + kBias + 128) / 256, of 16 bits.
template <class V>
HWY_INLINE hn::Vec<Narrow> to_levels(V sum) {
#if HWY_TARGET == HWY_NEON
  return hn::Vec<Narrow>(
      vraddhn_u16(vreinterpretq_u16_s16(sum.raw), vdupq_n_u16(static_cast<std::uint16_t>(kBias))));
#else
  const hn::RebindToUnsigned<Wide> d;
  const auto level = hn::ShiftRight<8>(
      hn::Add(hn::BitCast(d, sum), hn::Set(d, static_cast<std::uint16_t>(kBias + 128))));
  return hn::DemoteTo(Narrow(), hn::BitCast(Wide(), level));
#endif
}

template <std::size_t kCount>
void blend_rows(std::uint8_t* HWY_RESTRICT to, const std::int16_t* const* held,
                const std::int16_t* weights, std::size_t samples) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const std::int16_t* rows[kCount];  // copies: a store of bytes could change what others point to
  hn::Vec<Wide> weight[kCount];
  for (std::size_t k = 0; k < kCount; ++k) {
    rows[k] = held[k];
    weight[k] = hn::Set(d, weights[k]);
  }
  const auto step = [&](std::size_t i) HWY_ATTR {
    auto sum = hn::MulFixedPoint15(hn::LoadU(d, rows[0] + i), weight[0]);
    for (std::size_t k = 1; k < kCount; ++k)
      sum = hn::Add(sum, hn::MulFixedPoint15(hn::LoadU(d, rows[k] + i), weight[k]));
    hn::StoreU(to_levels(sum), Narrow(), to + i);
  };
  std::size_t i = 0;
  for (; i + 2 * lanes <= samples; i += 2 * lanes) {
    step(i);
    step(i + lanes);
  }
  if (i + lanes <= samples) step(i);
  if (samples % lanes != 0) step(samples - lanes);
}

void blend_many(std::uint8_t* HWY_RESTRICT to, const std::int16_t* const* rows,
                const std::int16_t* weights, std::size_t count, std::size_t samples) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const auto step = [=](std::size_t i) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (std::size_t k = 0; k < count; ++k)
      sum = hn::Add(sum, hn::MulFixedPoint15(hn::LoadU(d, rows[k] + i), hn::Set(d, weights[k])));
    hn::StoreU(to_levels(sum), Narrow(), to + i);
  };
  for (std::size_t i = 0; i + lanes <= samples; i += lanes)
    step(i);
  if (samples % lanes != 0) step(samples - lanes);
}

void blend(std::uint8_t* to, const std::int16_t* const* rows, const std::int16_t* weights,
           std::size_t count, std::size_t samples) {
  if (samples < hn::Lanes(Wide()))
    return blend_antialias_plain(to, rows, weights, count, 0, samples);
  switch (count) {
    case 1:
      return blend_rows<1>(to, rows, weights, samples);
    case 2:
      return blend_rows<2>(to, rows, weights, samples);
    case 3:
      return blend_rows<3>(to, rows, weights, samples);
    case 4:
      return blend_rows<4>(to, rows, weights, samples);
    case 5:
      return blend_rows<5>(to, rows, weights, samples);
    default:
      return blend_many(to, rows, weights, count, samples);
  }
}

void antialias_u8(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
                  const AntialiasTables& tables) {
  const auto width = static_cast<std::size_t>(dst.width());
  antialias_rows(
      dst, src, tables,
      [&](std::int16_t* const* to, int row, int count)
          HWY_ATTR { stretch(to, src, row, count, tables, width); },
      [&](std::uint8_t* to, const std::int16_t* const* rows, const std::int16_t* weights,
          std::size_t count) HWY_ATTR { blend(to, rows, weights, count, dst.row_samples()); });
}

}  // namespace sluice::image::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::image::detail {

HWY_EXPORT(antialias_u8);

void antialias_hwy(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
                   const AntialiasTables& tables) {
  HWY_DYNAMIC_DISPATCH(antialias_u8)(dst, src, tables);
}

}  // namespace sluice::image::detail
#endif  // HWY_ONCE
