// sluice/image/resize/resize_hwy.cpp - the bilinear kernels on Highway, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/resize/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/image/resize/resize_hwy.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::image::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using U16x8 = hn::FixedTag<std::uint16_t, 8>;
using U8x8 = hn::FixedTag<std::uint8_t, 8>;
using U8x16 = hn::FixedTag<std::uint8_t, 16>;
using V8 = hn::Vec<U8x8>;
using V16 = hn::Vec<U8x16>;
using W8 = hn::Vec<U16x8>;

// Highway has no multiplication of bytes, no halving subtraction and no addition that rounds and
// narrows; NEON has each as one instruction, with the same result.

/// x[i] * weights[i] + x[i + 8] * weights[i + 8]: the left neighbours lie in the lower half, the
/// right ones in the upper, and so do their weights.
HWY_INLINE W8 dot_halves(V16 x, V16 weights) {
#if HWY_TARGET == HWY_NEON
  return W8(
      vmlal_high_u8(vmull_u8(vget_low_u8(x.raw), vget_low_u8(weights.raw)), x.raw, weights.raw));
#else
  const U16x8 d;
  const U8x8 half;
  const auto product = [&](V8 a, V8 b)
                           HWY_ATTR { return hn::Mul(hn::PromoteTo(d, a), hn::PromoteTo(d, b)); };
  return hn::Add(product(hn::LowerHalf(half, x), hn::LowerHalf(half, weights)),
                 product(hn::UpperHalf(half, x), hn::UpperHalf(half, weights)));
#endif
}

/// Gather::step and Gather::pixel: one shuffle brings the neighbours together, one more vector says
/// what they weigh.
template <class Load>
HWY_INLINE void stretch_steps(std::uint16_t* HWY_RESTRICT to, const ResizeTablesU8& tables,
                              std::size_t samples, Load load) {
  const U8x16 d;
  const std::size_t steps = tables.steps;
  const auto* step = reinterpret_cast<const std::uint8_t*>(tables.picks);
  for (std::size_t i = 0; i < steps; ++i, to += samples, step += sizeof(ResizeStep)) {
    const auto picked = hn::TableLookupBytes(load(i), hn::Load(d, step));
    hn::StoreU(dot_halves(picked, hn::Load(d, step + 16)), U16x8(), to);
  }
}

/// left * left_weight + right * right_weight.
HWY_INLINE W8 mix(V8 left, V8 right, V8 left_weight, V8 right_weight) {
#if HWY_TARGET == HWY_NEON
  return W8(vmlal_u8(vmull_u8(left.raw, left_weight.raw), right.raw, right_weight.raw));
#else
  const U16x8 d;
  return hn::Add(hn::Mul(hn::PromoteTo(d, left), hn::PromoteTo(d, left_weight)),
                 hn::Mul(hn::PromoteTo(d, right), hn::PromoteTo(d, right_weight)));
#endif
}

/// 5 channels or more: pixel by pixel, eight samples at a time; the last store of a pixel runs into
/// the next, which comes after. Returns the columns done.
std::size_t stretch_wide(std::uint16_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from,
                         const ResizeTablesU8& tables, std::size_t channels, std::size_t row,
                         std::size_t width) {
  const U8x8 d;
  const std::size_t written = (channels + 7) / 8 * 8;
  const std::int32_t* const offsets = tables.offsets;
  const ResizePair* const pairs = tables.pairs;
  std::size_t x = 0;
  for (; x < width; ++x, to += channels) {
    const auto offset = static_cast<std::size_t>(offsets[x]);
    if (offset + channels + written > row) break;
    const std::uint8_t* left = from + offset;
    const std::uint8_t* right = left + pairs[x].step;
    const auto left_weight = hn::Set(d, pairs[x].left_weight);
    const auto right_weight = hn::Set(d, pairs[x].right_weight);
    const auto part = [&](std::size_t c) HWY_ATTR {
      hn::StoreU(mix(hn::LoadU(d, left + c), hn::LoadU(d, right + c), left_weight, right_weight),
                 U16x8(), to + c);
    };
    part(0);
    for (std::size_t c = 8; c < written; c += 8)
      part(c);
  }
  return x;
}

void stretch(std::uint16_t* to, const std::uint8_t* from, const ResizeTablesU8& tables,
             std::size_t channels, std::size_t row, std::size_t width) {
  const std::size_t samples = tables.pixels_per_step * channels;
  const std::int32_t* const windows = tables.windows;
  std::size_t done = tables.steps * tables.pixels_per_step;
  switch (tables.gather) {
    case Gather::step:
      stretch_steps(to, tables, samples, [from, windows](std::size_t i) HWY_ATTR {
        return hn::LoadU(U8x16(), from + windows[i]);
      });
      break;
    case Gather::pixel:
      stretch_steps(to, tables, samples, [from, windows](std::size_t i) HWY_ATTR {
        return hn::Combine(U8x16(), hn::LoadU(U8x8(), from + windows[2 * i + 1]),
                           hn::LoadU(U8x8(), from + windows[2 * i]));
      });
      break;
    case Gather::plain:
      if (channels > 4) done = stretch_wide(to, from, tables, channels, row, width);
      break;
  }
  stretch_plain(to, from, tables, channels, done, width);
}

void stretch(float* HWY_RESTRICT to, const float* HWY_RESTRICT from, const ResizeTablesF32& tables,
             std::size_t channels, std::size_t row, std::size_t width) {
  const hn::FixedTag<float, 4> d;
  const std::size_t written = (channels + 3) / 4 * 4;
  std::size_t x = 0;
  if (channels >= 2)
    for (; x < width; ++x) {
      const auto offset = static_cast<std::size_t>(tables.offsets[x]);
      if (offset + channels + written > row) break;
      const float* left = from + offset;
      const auto weight = hn::Set(d, tables.weights[x]);
      for (std::size_t c = 0; c < written; c += 4) {
        const auto a = hn::LoadU(d, left + c);
        hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, left + c + channels), a), weight, a), d,
                   to + x * channels + c);
      }
    }
  stretch_plain(to, from, tables, channels, x, width);
}

using Sums16 = hn::ScalableTag<std::uint16_t>;
using Signed = hn::RebindToSigned<Sums16>;
using Narrow = hn::Rebind<std::uint8_t, Sums16>;

/// (b - a) / 2, rounded down.
template <class V>
HWY_INLINE hn::Vec<Signed> half_difference(V b, V a) {
#if HWY_TARGET == HWY_NEON
  return hn::Vec<Signed>(vreinterpretq_s16_u16(vhsubq_u16(b.raw, a.raw)));
#else  // (b + (65535 - a) + 1) / 2 is that and 32768 more
  const Sums16 d;
  return hn::BitCast(Signed(),
                     hn::Xor(hn::AverageRound(b, hn::Not(a)), hn::Set(d, std::uint16_t{0x8000})));
#endif
}

/// (a + b + 128) / 256, of 16 bits.
template <class V>
HWY_INLINE hn::Vec<Narrow> rounded_sum(V a, hn::Vec<Signed> b) {
#if HWY_TARGET == HWY_NEON
  return hn::Vec<Narrow>(vraddhn_u16(a.raw, vreinterpretq_u16_s16(b.raw)));
#else
  const Sums16 d;
  const auto sum = hn::Add(hn::Add(a, hn::BitCast(d, b)), hn::Set(d, std::uint16_t{128}));
  return hn::DemoteTo(Narrow(), hn::BitCast(Signed(), hn::ShiftRight<8>(sum)));
#endif
}

void blend(std::uint8_t* HWY_RESTRICT to, const std::uint16_t* near, const std::uint16_t* far,
           std::int16_t weight, std::size_t count) {
  const Sums16 d;
  const std::size_t lanes = hn::Lanes(d);
  if (count < lanes) return blend_plain(to, near, far, weight, 0, count);
  const auto w = hn::Set(Signed(), weight);
  const auto step = [=](std::size_t i) HWY_ATTR {
    const auto a = hn::LoadU(d, near + i);
    const auto b = hn::LoadU(d, far + i);
    hn::StoreU(rounded_sum(a, hn::MulFixedPoint15(half_difference(b, a), w)), Narrow(), to + i);
  };
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    step(i);
    step(i + lanes);
    step(i + 2 * lanes);
    step(i + 3 * lanes);
  }
  for (; i + lanes <= count; i += lanes)
    step(i);
  if (i < count) step(count - lanes);
}

void blend(float* HWY_RESTRICT to, const float* near, const float* far, float weight,
           std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto w = hn::Set(d, weight);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto a = hn::LoadU(d, near + i);
    hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, far + i), a), w, a), d, to + i);
  }
  blend_plain(to, near, far, weight, i, count);
}

template <class T, class Work, class Weight>
void resize_any(const ImageSpan<T>& dst, const ImageView<T>& src,
                const ResizeTables<Work, Weight>& tables) {
  const auto channels = static_cast<std::size_t>(src.channels());
  const auto width = static_cast<std::size_t>(dst.width());
  resize_rows(
      dst, src, tables,
      [&](Work* to, const T* from)
          HWY_ATTR { stretch(to, from, tables, channels, src.row_samples(), width); },
      [&](T* to, const Work* near, const Work* far, auto weight)
          HWY_ATTR { blend(to, near, far, weight, dst.row_samples()); });
}

void resize_u8(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
               const ResizeTablesU8& tables) {
  resize_any(dst, src, tables);
}
void resize_f32(const ImageSpan<float>& dst, const ImageView<float>& src,
                const ResizeTablesF32& tables) {
  resize_any(dst, src, tables);
}

}  // namespace sluice::image::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::image::detail {

HWY_EXPORT(resize_u8);
HWY_EXPORT(resize_f32);

void resize_hwy(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
                const ResizeTablesU8& tables) {
  HWY_DYNAMIC_DISPATCH(resize_u8)(dst, src, tables);
}
void resize_hwy(const ImageSpan<float>& dst, const ImageView<float>& src,
                const ResizeTablesF32& tables) {
  HWY_DYNAMIC_DISPATCH(resize_f32)(dst, src, tables);
}

}  // namespace sluice::image::detail
#endif  // HWY_ONCE
