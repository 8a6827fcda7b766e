// sluice/aug/kernels/colour_planes_f32.cpp - colour operations on f32 pixels, compiled once per
// instruction set; built as colour_steps.cpp is.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/colour_planes_f32.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/colour_planes_f32.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DC = hn::ScalableTag<float>;
using VC = hn::Vec<DC>;

constexpr std::size_t kPixels = 256;

struct Colours {
  HWY_ALIGN float rows[3][kPixels];
  std::size_t count = 0;
};

HWY_INLINE VC unit(VC x) {
  return hn::Min(hn::Max(x, hn::Zero(DC())), hn::Set(DC(), 1.0F));
}

void load_colours(Colours& to, const float* src, std::size_t count) {
  const DC d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    VC r, g, b;
    hn::LoadInterleaved3(d, src + 3 * i, r, g, b);
    hn::Store(r, d, to.rows[0] + i);
    hn::Store(g, d, to.rows[1] + i);
    hn::Store(b, d, to.rows[2] + i);
  }
  const std::size_t end = std::min(kPixels, (count + lanes - 1) / lanes * lanes);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t k = i; k < end; ++k)  // black behind the last: whole vectors can be taken
      to.rows[c][k] = k < count ? src[3 * k + c] : 0.0F;
  to.count = count;
}

void store_colours(float* dst, const Colours& from, ChannelOrder order) {
  const DC d;
  const std::size_t lanes = hn::Lanes(d);
  const float* r = from.rows[order[0]];
  const float* g = from.rows[order[1]];
  const float* b = from.rows[order[2]];
  std::size_t i = 0;
  for (; i + lanes <= from.count; i += lanes)
    hn::StoreInterleaved3(hn::Load(d, r + i), hn::Load(d, g + i), hn::Load(d, b + i), d,
                          dst + 3 * i);
  for (; i < from.count; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      dst[3 * i + c] = from.rows[order[c]][i];
}

void scale_colours(Colours& colours, const ColourStepF32& step) {
  const DC d;
  const auto first = hn::Set(d, step.first);
  const auto second = hn::Set(d, step.second);
  const auto offset = hn::Set(d, step.offset);
  const bool both = step.op == ColourOp::scale_scale_add;
  for (auto& row : colours.rows)
    for (std::size_t i = 0; i < colours.count; i += hn::Lanes(d)) {
      auto x = hn::Load(d, row + i);
      if (both)
        x = hn::MulAdd(unit(hn::Mul(x, first)), second, offset);
      else
        x = hn::MulAdd(x, first, offset);
      hn::Store(unit(x), d, row + i);
    }
}

HWY_INLINE VC grey_colour(VC r, VC g, VC b) {
  const DC d;
  return hn::MulAdd(r, hn::Set(d, 0.299F),
                    hn::MulAdd(g, hn::Set(d, 0.587F), hn::Mul(b, hn::Set(d, 0.114F))));
}

/// change(r, g, b) for every vector of pixels.
template <class Change>
HWY_INLINE void change_colours(Colours& colours, Change change) {
  const DC d;
  for (std::size_t i = 0; i < colours.count; i += hn::Lanes(d)) {
    VC r = hn::Load(d, colours.rows[0] + i);
    VC g = hn::Load(d, colours.rows[1] + i);
    VC b = hn::Load(d, colours.rows[2] + i);
    change(r, g, b);
    hn::Store(r, d, colours.rows[0] + i);
    hn::Store(g, d, colours.rows[1] + i);
    hn::Store(b, d, colours.rows[2] + i);
  }
}

void saturate_colours(Colours& colours, const ColourStepF32& step) {
  const auto factor = hn::Set(DC(), step.first);
  change_colours(colours, [&](VC& r, VC& g, VC& b) HWY_ATTR {
    const VC grey = grey_colour(r, g, b);
    r = unit(hn::MulAdd(hn::Sub(r, grey), factor, grey));
    g = unit(hn::MulAdd(hn::Sub(g, grey), factor, grey));
    b = unit(hn::MulAdd(hn::Sub(b, grey), factor, grey));
  });
}

void turn_colours(Colours& colours, const ColourStepF32& step) {
  const DC d;
  const auto at = [&](float x) HWY_ATTR { return hn::Set(d, x); };
  const VC shift = at(step.hue_shift);
  change_colours(colours, [&](VC& r, VC& g, VC& b) HWY_ATTR {
    const VC value = hn::Max(hn::Max(r, g), b);
    const VC range = hn::Sub(value, hn::Min(hn::Min(r, g), b));
    const auto is_r = hn::Eq(value, r);
    const auto is_g = hn::Eq(value, g);
    const VC plus = hn::IfThenElse(is_r, g, hn::IfThenElse(is_g, b, r));
    const VC minus = hn::IfThenElse(is_r, b, hn::IfThenElse(is_g, r, g));
    const VC sector = hn::IfThenZeroElse(is_r, hn::IfThenElse(is_g, at(2.0F), at(4.0F)));
    VC hue = hn::Div(hn::Sub(plus, minus), hn::Max(range, at(1e-30F)));  // grey: 0
    hue = hn::Add(hn::Add(hue, sector), shift);
    hue = hn::Add(hue, hn::IfThenElseZero(hn::Lt(hue, hn::Zero(d)), at(6.0F)));
    hue = hn::Sub(hue, hn::IfThenElseZero(hn::Ge(hue, at(6.0F)), at(6.0F)));
    const auto away = [&](float centre) HWY_ATTR { return hn::Abs(hn::Sub(hue, at(centre))); };
    r = hn::NegMulAdd(range, unit(hn::Sub(at(2.0F), away(3.0F))), value);
    g = hn::NegMulAdd(range, unit(hn::Sub(away(2.0F), at(1.0F))), value);
    b = hn::NegMulAdd(range, unit(hn::Sub(away(4.0F), at(1.0F))), value);
  });
}

void take_colour_steps(Colours& colours, const ColourStepF32* steps, std::size_t step_count) {
  for (std::size_t s = 0; s < step_count; ++s)
    switch (steps[s].op) {
      case ColourOp::scale:
      case ColourOp::scale_add:
      case ColourOp::scale_scale_add:
        scale_colours(colours, steps[s]);
        break;
      case ColourOp::saturate:
        saturate_colours(colours, steps[s]);
        break;
      case ColourOp::hsv:
        turn_colours(colours, steps[s]);
        break;
    }
}

void run_colour_steps(float* dst, const float* src, std::size_t pixels, const ColourStepF32* steps,
                      std::size_t step_count, ChannelOrder order) {
  Colours colours;
  for (std::size_t i = 0; i < pixels; i += kPixels) {
    load_colours(colours, src + 3 * i, std::min(kPixels, pixels - i));
    take_colour_steps(colours, steps, step_count);
    store_colours(dst + 3 * i, colours, order);
  }
}

double sum_colours_after_steps(float* dst, const float* src, std::size_t pixels,
                               const ColourStepF32* steps, std::size_t step_count) {
  const DC d;
  Colours colours;
  double total = 0;
  for (std::size_t i = 0; i < pixels; i += kPixels) {
    load_colours(colours, src + 3 * i, std::min(kPixels, pixels - i));
    take_colour_steps(colours, steps, step_count);
    auto sum = hn::Zero(d);
    for (std::size_t k = 0; k < colours.count; k += hn::Lanes(d))
      sum = hn::Add(sum,
                    grey_colour(hn::Load(d, colours.rows[0] + k), hn::Load(d, colours.rows[1] + k),
                                hn::Load(d, colours.rows[2] + k)));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
    if (dst != nullptr) store_colours(dst + 3 * i, colours, kRgb);
  }
  return total;
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(run_colour_steps);
HWY_EXPORT(sum_colours_after_steps);

void colour_steps(float* dst, const float* src, std::size_t pixels,
                  std::span<const ColourStepF32> steps, ChannelOrder order) {
  HWY_DYNAMIC_DISPATCH(run_colour_steps)(dst, src, pixels, steps.data(), steps.size(), order);
}
double grey_sum(float* dst, const float* src, std::size_t pixels,
                std::span<const ColourStepF32> steps) {
  return HWY_DYNAMIC_DISPATCH(sum_colours_after_steps)(dst, src, pixels, steps.data(),
                                                       steps.size());
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
