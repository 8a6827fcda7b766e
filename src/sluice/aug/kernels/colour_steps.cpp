// sluice/aug/kernels/colour_steps.cpp - operations on RGB pixels in 8 bits, compiled once per
// instruction set. Pixels are taken apart into three planes of a few hundred pixels that stay in
// the first cache; every step is a loop over them. The arithmetic is integers, or floats that hold
// integers or are rounded to them with room to spare, so that results are the same everywhere.
// Versions and timings: bench/kernels/colour.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/colour_steps.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/colour_steps.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/aug/kernels/colour_hsv-inl.h"
#include "sluice/aug/kernels/colour_planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// floor(x * factor / 2^8) for bytes x: 1/32 levels when the factor counts 1/8192.
HWY_INLINE VI16 lower_scaled(V8 x, VI16 factor) {
#if HWY_TARGET == HWY_NEON
  return VI16(vqdmulhq_s16(vreinterpretq_s16_u16(vshll_n_u8(vget_low_u8(x.raw), 7)), factor.raw));
#else
  const D16 d;
  const auto high = hn::BitCast(d, hn::InterleaveLower(D8(), hn::Zero(D8()), x));
  return hn::BitCast(DI16(), hn::MulHigh(high, hn::BitCast(d, factor)));
#endif
}
HWY_INLINE VI16 upper_scaled(V8 x, VI16 factor) {
#if HWY_TARGET == HWY_NEON
  return VI16(vqdmulhq_s16(vreinterpretq_s16_u16(vshll_n_u8(vget_high_u8(x.raw), 7)), factor.raw));
#else
  const D16 d;
  const auto high = hn::BitCast(d, hn::InterleaveUpper(D8(), hn::Zero(D8()), x));
  return hn::BitCast(DI16(), hn::MulHigh(high, hn::BitCast(d, factor)));
#endif
}
/// floor(t * factor / 2^13) for 0 <= t <= 255 * 32.
HWY_INLINE VI16 scaled_again(VI16 t, VI16 factor) {
#if HWY_TARGET == HWY_NEON
  return VI16(vqdmulhq_s16(vshlq_n_s16(t.raw, 2), factor.raw));
#else
  const D16 d;
  const auto high = hn::BitCast(d, hn::ShiftLeft<3>(t));
  return hn::BitCast(DI16(), hn::MulHigh(high, hn::BitCast(d, factor)));
#endif
}
/// Signed 16-bit values to levels: shifted right, clipped.
template <int kBits>
HWY_INLINE V8 levels_of(VI16 low, VI16 high) {
#if HWY_TARGET == HWY_NEON
  if constexpr (kBits == 0) return V8(vqmovun_high_s16(vqmovun_s16(low.raw), high.raw));
  constexpr int kShift = kBits == 0 ? 1 : kBits;
  return V8(vqshrun_high_n_s16(vqshrun_n_s16(low.raw, kShift), high.raw, kShift));
#else
  const DI16 d;
  const auto clip = [&](VI16 t) HWY_ATTR {
    return hn::BitCast(D16(),
                       hn::Min(hn::Max(hn::ShiftRight<kBits>(t), hn::Zero(d)), hn::Set(d, 255)));
  };
  return low_bytes(clip(low), clip(high));
#endif
}

/// The per-sample operations: scale, scale and add, or two scales and add.
template <bool kSecond>
void scale_planes(Planes& planes, const ColourStep& step) {
  const D8 d;
  const DI16 di;
  const std::size_t lanes = hn::Lanes(d);
  const auto first = hn::Set(di, static_cast<std::int16_t>(step.first));
  const auto second = hn::Set(di, static_cast<std::int16_t>(step.second));
  const auto offset = hn::Set(di, static_cast<std::int16_t>(step.offset));
  const auto finish = [&](VI16 t) HWY_ATTR {
    if constexpr (kSecond) t = scaled_again(hn::Min(t, hn::Set(di, 255 * 32)), second);
    return hn::SaturatedAdd(t, offset);
  };
  for (auto& row : planes.rows)
    for (std::size_t i = 0; i < planes.count; i += lanes) {
      const V8 x = hn::Load(d, row + i);
      hn::Store(levels_of<5>(finish(lower_scaled(x, first)), finish(upper_scaled(x, first))), d,
                row + i);
    }
}

/// (9798 r + 19235 g + 3735 b + 2^14) / 2^15, rounded down; the weights in two bytes each keep it
/// within 16 bits. The lower and the upper half of each 128-bit block.
struct Grey {
  V16 low, high;
};
#if HWY_TARGET == HWY_NEON
HWY_INLINE V16 grey_of(uint8x8_t r, uint8x8_t g, uint8x8_t b) {
  const auto weigh = [&](std::uint8_t of_r, std::uint8_t of_g, std::uint8_t of_b) HWY_ATTR {
    return vmlal_u8(vmlal_u8(vmull_u8(r, vdup_n_u8(of_r)), g, vdup_n_u8(of_g)), b, vdup_n_u8(of_b));
  };
  return V16(vrshrq_n_u16(vsraq_n_u16(weigh(38, 75, 14), weigh(70, 35, 151), 8), 7));
}
HWY_INLINE Grey grey_of(V8 r, V8 g, V8 b) {
  return {grey_of(vget_low_u8(r.raw), vget_low_u8(g.raw), vget_low_u8(b.raw)),
          grey_of(vget_high_u8(r.raw), vget_high_u8(g.raw), vget_high_u8(b.raw))};
}
#else
HWY_INLINE V16 grey_of(V16 r, V16 g, V16 b) {
  const D16 d;
  const auto high = hn::Add(hn::Add(hn::Mul(r, hn::Set(d, 38)), hn::Mul(g, hn::Set(d, 75))),
                            hn::Add(hn::Mul(b, hn::Set(d, 14)), hn::Set(d, 64)));
  const auto low = hn::Add(hn::Add(hn::Mul(r, hn::Set(d, 70)), hn::Mul(g, hn::Set(d, 35))),
                           hn::Mul(b, hn::Set(d, 151)));
  return hn::ShiftRight<7>(hn::Add(high, hn::ShiftRight<8>(low)));
}
HWY_INLINE Grey grey_of(V8 r, V8 g, V8 b) {
  return {grey_of(lower(r), lower(g), lower(b)), grey_of(upper(r), upper(g), upper(b))};
}
#endif

/// Where x.5 can arise, which goes to the even neighbour: nowhere; from parts of a level that are
/// exact; only the whole product tells.
enum class Ties { none, in_parts, in_product };

/// grey + factor * (x - grey) as 16-bit values: levels, or 1/16 levels where ties are in parts.
/// `off` is grey - x, `factor` its negative: on NEON that difference widens as it goes.
template <Ties kTies>
HWY_INLINE VI16 blend(VI16 off, V16 grey, VI16 factor) {
  const DI16 d;
  const auto level = hn::BitCast(d, grey);
  // floor(off * factor / 512) or / 256: parts of a level, so that the next shift rounds exactly
#if HWY_TARGET == HWY_NEON
  constexpr int kBits = kTies == Ties::in_parts ? 4 : 5;
  const auto part = VI16(vqdmulhq_s16(vshlq_n_s16(off.raw, kBits + 2), factor.raw));
#else
  constexpr int kBits = 4;
  const auto part = hn::MulHigh(hn::ShiftLeft<7>(off), factor);
#endif
  constexpr int kHalf = 1 << (kBits - 1);
  if constexpr (kTies == Ties::in_parts) {
    const auto sum = hn::Add(hn::ShiftLeft<kBits>(level), part);
    const auto odd =
        hn::BitCast(d, hn::ShiftRight<15>(hn::BitCast(D16(), hn::ShiftLeft<15 - kBits>(sum))));
    return hn::Add(hn::Add(sum, hn::Set(d, kHalf - 1)), odd);
  } else {
#if HWY_TARGET == HWY_NEON
    auto sum = hn::Add(level, VI16(vrshrq_n_s16(part.raw, kBits)));
#else
    auto sum = hn::Add(level, hn::ShiftRight<kBits>(hn::Add(part, hn::Set(d, kHalf))));
#endif
    if constexpr (kTies == Ties::in_product) {
      const auto fraction = hn::ShiftLeft<3>(hn::Mul(off, factor));  // a half is the top bit
      const auto tie = hn::VecFromMask(d, hn::Eq(fraction, hn::Set(d, -32768)));
      sum = hn::Sub(sum, hn::And(hn::And(sum, hn::Set(d, 1)), tie));
    }
    return sum;
  }
}

template <Ties kTies>
void saturate_planes(Planes& planes, const ColourStep& step) {
  const D8 d;
  const DI16 di;
  const std::size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(di, static_cast<std::int16_t>(-static_cast<int>(step.first)));
  for (std::size_t i = 0; i < planes.count; i += lanes) {
    const V8 r = hn::Load(d, planes.rows[0] + i);
    const V8 g = hn::Load(d, planes.rows[1] + i);
    const V8 b = hn::Load(d, planes.rows[2] + i);
    const Grey grey = grey_of(r, g, b);
    const auto channel = [&](V8 x) HWY_ATTR {
#if HWY_TARGET == HWY_NEON
      const V16 low(vsubw_u8(grey.low.raw, vget_low_u8(x.raw)));
      const V16 high(vsubw_u8(grey.high.raw, vget_high_u8(x.raw)));
#else
      const V16 low = hn::Sub(grey.low, lower(x));
      const V16 high = hn::Sub(grey.high, upper(x));
#endif
      return levels_of < kTies == Ties::in_parts
                 ? 4
                 : 0 > (blend<kTies>(hn::BitCast(di, low), grey.low, factor),
                        blend<kTies>(hn::BitCast(di, high), grey.high, factor));
    };
    hn::Store(channel(r), d, planes.rows[0] + i);
    hn::Store(channel(g), d, planes.rows[1] + i);
    hn::Store(channel(b), d, planes.rows[2] + i);
  }
}

std::uint64_t sum_of_greys(const Planes& planes) {
  const D8 d;
  const D16 d16;
  const std::size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d16);  // a chunk has at most 2 x 32 greys per lane
  for (std::size_t i = 0; i < planes.count; i += lanes) {
    const V8 r = hn::Load(d, planes.rows[0] + i);
    const V8 g = hn::Load(d, planes.rows[1] + i);
    const V8 b = hn::Load(d, planes.rows[2] + i);
    const Grey grey = grey_of(r, g, b);
    sum = hn::Add(sum, hn::Add(grey.low, grey.high));
  }
  HWY_ALIGN std::uint16_t parts[HWY_MAX_BYTES / 2];
  hn::Store(sum, d16, parts);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < hn::Lanes(d16); ++i)
    total += parts[i];
  return total;
}

/// Two loops, there and back: one whole chain of dependent operations is longer than a core looks
/// ahead.
void hsv_planes(Planes& planes, const ColourStep& step) {
  const D8 d;
  const std::size_t lanes = hn::Lanes(d);
  std::uint8_t* const first = planes.rows[0];
  std::uint8_t* const second = planes.rows[1];
  std::uint8_t* const third = planes.rows[2];
  for (std::size_t i = 0; i < planes.count; i += lanes) {
    V8 hue, saturation, value;
    hsv_of_rgb(hue, saturation, value, hn::Load(d, first + i), hn::Load(d, second + i),
               hn::Load(d, third + i));
    hn::Store(hue, d, first + i);
    hn::Store(saturation, d, second + i);
    hn::Store(value, d, third + i);
  }
  const auto set = [&](int level) HWY_ATTR { return hn::Set(d, static_cast<std::uint8_t>(level)); };
  const int turn = (step.hue_shift + 150) % 180;  // the hue comes 30 too large
  const auto forward = set(turn);
  const auto back = set(180 - turn);
  const auto more = set(std::max(step.saturation_shift, 0));
  const auto less = set(std::max(-step.saturation_shift, 0));
  for (std::size_t i = 0; i < planes.count; i += lanes) {
    V8 hue = hn::Load(d, first + i);
    V8 saturation = hn::Load(d, second + i);
    const auto wraps = hn::Eq(hn::Max(hue, back), hue);
    hue = hn::IfThenElse(wraps, hn::Sub(hue, back), hn::Add(hue, forward));
    const auto moved = hn::SaturatedSub(hn::SaturatedAdd(saturation, more), less);
    saturation = hn::IfThenZeroElse(hn::Eq(saturation, hn::Zero(d)), moved);
    V8 r, g, b;
    rgb_of_hsv(r, g, b, hue, saturation, hn::Load(d, third + i));
    hn::Store(r, d, first + i);
    hn::Store(g, d, second + i);
    hn::Store(b, d, third + i);
  }
}

void take_steps(Planes& planes, const ColourStep* steps, std::size_t step_count) {
  for (std::size_t s = 0; s < step_count; ++s)
    switch (steps[s].op) {
      case ColourOp::scale:
      case ColourOp::scale_add:
        scale_planes<false>(planes, steps[s]);
        break;
      case ColourOp::scale_scale_add:
        scale_planes<true>(planes, steps[s]);
        break;
      case ColourOp::saturate:
        // x - grey has at most 7 factors of two: no tie unless the factor has 5
        if (steps[s].first % 512 == 0)
          saturate_planes<Ties::in_parts>(planes, steps[s]);
        else if (steps[s].first % 32 == 0)
          saturate_planes<Ties::in_product>(planes, steps[s]);
        else
          saturate_planes<Ties::none>(planes, steps[s]);
        break;
      case ColourOp::hsv:
        hsv_planes(planes, steps[s]);
        break;
    }
}

template <class T>
void run_steps(T* dst, const T* src, std::size_t pixels, const ColourStep* steps,
               std::size_t step_count, ChannelOrder order) {
  Planes planes;
  for (std::size_t i = 0; i < pixels; i += kChunk) {
    load_planes(planes, src + 3 * i, std::min(kChunk, pixels - i));
    take_steps(planes, steps, step_count);
    store_planes(dst + 3 * i, planes, order);
  }
}

void run_steps_u8(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                  const ColourStep* steps, std::size_t step_count, ChannelOrder order) {
  run_steps(dst, src, pixels, steps, step_count, order);
}
void run_steps_f32(float* dst, const float* src, std::size_t pixels, const ColourStep* steps,
                   std::size_t step_count, ChannelOrder order) {
  run_steps(dst, src, pixels, steps, step_count, order);
}

std::uint64_t sum_after_steps(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                              const ColourStep* steps, std::size_t step_count) {
  Planes planes;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < pixels; i += kChunk) {
    load_planes(planes, src + 3 * i, std::min(kChunk, pixels - i));
    take_steps(planes, steps, step_count);
    sum += sum_of_greys(planes);
    if (dst != nullptr) store_planes(dst + 3 * i, planes, kRgb);
  }
  return sum;
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(run_steps_u8);
HWY_EXPORT(run_steps_f32);
HWY_EXPORT(sum_after_steps);

void colour_steps(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                  std::span<const ColourStep> steps, ChannelOrder order) {
  HWY_DYNAMIC_DISPATCH(run_steps_u8)(dst, src, pixels, steps.data(), steps.size(), order);
}
void colour_steps(float* dst, const float* src, std::size_t pixels,
                  std::span<const ColourStep> steps, ChannelOrder order) {
  HWY_DYNAMIC_DISPATCH(run_steps_f32)(dst, src, pixels, steps.data(), steps.size(), order);
}
std::uint64_t grey_sum(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                       std::span<const ColourStep> steps) {
  return HWY_DYNAMIC_DISPATCH(sum_after_steps)(dst, src, pixels, steps.data(), steps.size());
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
