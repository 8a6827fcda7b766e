// sluice/aug/colour/colour_chain.cpp - the drawn operations as steps of the colour kernels; what
// lies before a contrast step is done first, for the mean it needs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/colour/colour_chain.h"

#include "sluice/aug/kernels/colour_planes_f32.h"
#include "sluice/aug/kernels/colour_steps.h"
#include "sluice/aug/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

using kernels::ColourOp;

template <class Step>
struct Steps {
  std::array<Step, 4> steps{};
  std::size_t count = 0;
  void add(const Step& step) { steps[count++] = step; }
  [[nodiscard]] std::span<const Step> all() const { return {steps.data(), count}; }
};

template <class T>
struct Kind;  // of the steps for samples of T
template <>
struct Kind<std::uint8_t> {
  using Step = kernels::ColourStep;
  static std::uint16_t parts(double factor) {
    return static_cast<std::uint16_t>(std::ceil(factor * 8192));
  }
  static Step brightness(double b) { return {.op = ColourOp::scale, .first = parts(b)}; }
  static Step contrast(double b, double c, double mean, bool with_brightness) {
    const std::uint16_t first = parts(b), second = parts(c);
    if (with_brightness) mean *= first / 8192.0;
    const int offset = static_cast<int>(std::floor(mean * (8192 - second) / 256.0 + 0.5));
    if (with_brightness)
      return {.op = ColourOp::scale_scale_add, .first = first, .second = second, .offset = offset};
    return {.op = ColourOp::scale_add, .first = second, .offset = offset};
  }
  static Step saturation(double s) {
    return {.op = ColourOp::saturate, .first = static_cast<std::uint16_t>(std::lround(s * 8192))};
  }
  static Step hue(double turns) {
    const int shift = static_cast<int>(std::floor(turns * 180));
    return {.op = ColourOp::hsv, .hue_shift = (shift % 180 + 180) % 180};
  }
};
template <>
struct Kind<float> {
  using Step = kernels::ColourStepF32;
  static Step brightness(double b) {
    return {.op = ColourOp::scale, .first = static_cast<float>(b)};
  }
  static Step contrast(double b, double c, double mean, bool with_brightness) {
    if (with_brightness)
      return {.op = ColourOp::scale_scale_add,
              .first = static_cast<float>(b),
              .second = static_cast<float>(c),
              .offset = static_cast<float>(mean * b * (1 - c))};
    return {.op = ColourOp::scale_add,
            .first = static_cast<float>(c),
            .offset = static_cast<float>(mean * (1 - c))};
  }
  static Step saturation(double s) {
    return {.op = ColourOp::saturate, .first = static_cast<float>(s)};
  }
  static Step hue(double turns) {
    return {.op = ColourOp::hsv, .hue_shift = static_cast<float>(turns * 6)};
  }
};

template <class T>
using StepsOf = Steps<typename Kind<T>::Step>;

/// What order[from..to) means; brightness directly before contrast belongs to the contrast step.
template <class T>
StepsOf<T> steps_of(const ColourChainDraw& draw, std::size_t from, std::size_t to) {
  StepsOf<T> steps;
  for (std::size_t i = from; i < to; ++i) {
    if (draw.order[i] == 0 && (i == 3 || draw.order[i + 1] != 1))
      steps.add(Kind<T>::brightness(draw.brightness));
    if (draw.order[i] == 2) steps.add(Kind<T>::saturation(draw.saturation));
    if (draw.order[i] == 3 && draw.hue != 0) steps.add(Kind<T>::hue(draw.hue));
  }
  return steps;
}

template <class T>
void chain_frame(ImageSpan<T> dst, ImageView<T> src, const ColourChainDraw& draw) {
  const auto found = std::find(draw.order.begin(), draw.order.end(), 1);
  const auto at = static_cast<std::size_t>(found - draw.order.begin());
  const StepsOf<T> before = steps_of<T>(draw, 0, at);
  // A lone brightness step is cheaper done twice than stored and loaded.
  const bool keep = std::any_of(before.all().begin(), before.all().end(),
                                [](const auto& step) { return step.op != ColourOp::scale; });
  decltype(kernels::grey_sum(dst.data(), src.data(), 0, before.all())) sum{};
  const Frames<T> one{{&dst, 1}, {&src, 1}};
  for_each_run(one, [&](T* to, const T* from, std::size_t count) {
    sum += kernels::grey_sum(keep ? to : nullptr, from, count / 3, before.all());
  });
  const double mean = static_cast<double>(sum) / (static_cast<double>(src.width()) * src.height());
  StepsOf<T> steps = keep ? StepsOf<T>{} : before;
  const bool with_brightness = at > 0 && draw.order[at - 1] == 0;
  steps.add(Kind<T>::contrast(draw.brightness, draw.contrast, mean, with_brightness));
  const StepsOf<T> after = steps_of<T>(draw, at + 1, 4);
  for (const auto& step : after.all())
    steps.add(step);
  kernels::ChannelOrder order{};
  for (std::size_t c = 0; c < 3; ++c)
    order[c] = static_cast<std::uint8_t>(draw.channels[c]);
  for_each_run(one, [&](T* to, const T* from, std::size_t count) {
    kernels::colour_steps(to, keep ? to : from, count / 3, steps.all(), order);
  });
}

}  // namespace

template <class T>
void colour_chain_fast(const Frames<T>& frames, const ColourChainDraw& draw, Scratch&) {
  for (std::size_t f = 0; f < frames.size(); ++f)
    chain_frame(frames.dst[f], frames.src[f], draw);
}
template void colour_chain_fast(const Frames<std::uint8_t>&, const ColourChainDraw&, Scratch&);
template void colour_chain_fast(const Frames<float>&, const ColourChainDraw&, Scratch&);

template <class T>
void hsv_shift_fast(const Frames<T>& frames, const HsvShift& shift) {
  const kernels::ColourStep step{.op = ColourOp::hsv,
                                 .hue_shift = (shift.hue % 180 + 180) % 180,
                                 .saturation_shift = shift.saturation};
  for_each_run(frames, [&](T* dst, const T* src, std::size_t count) {
    kernels::colour_steps(dst, src, count / 3, std::span(&step, 1), kernels::kRgb);
  });
}
template void hsv_shift_fast(const Frames<std::uint8_t>&, const HsvShift&);
template void hsv_shift_fast(const Frames<float>&, const HsvShift&);

std::vector<Field<ColourRanges>> colour_range_fields() {
  return {range("brightness", &ColourRanges::brightness, 0, kMaxColourFactor, "factor"),
          range("contrast", &ColourRanges::contrast, 0, kMaxColourFactor, "factor"),
          range("saturation", &ColourRanges::saturation, 0, kMaxColourFactor, "factor"),
          range("hue", &ColourRanges::hue, -0.5, 0.5, "turns")};
}

std::vector<Field<ColourChainDraw>> colour_chain_fields() {
  return {field("brightness", &ColourChainDraw::brightness, 0, kMaxColourFactor),
          field("contrast", &ColourChainDraw::contrast, 0, kMaxColourFactor),
          field("saturation", &ColourChainDraw::saturation, 0, kMaxColourFactor),
          field("hue", &ColourChainDraw::hue, -0.5, 0.5, "turns"),
          field("order", &ColourChainDraw::order, 0, 3,
                "0 brightness, 1 contrast, 2 saturation, 3 hue")};
}

Status colour_chain_fits(const ColourChainDraw& draw, Shape) {
  const std::array<int, 4> four{0, 1, 2, 3};
  if (!std::is_permutation(four.begin(), four.end(), draw.order.begin()))
    return Error{Errc::invalid_config,
                 fmt::format("order [{}]: accepted is 0, 1, 2, 3 in any order",
                             fmt::join(draw.order, ", "))};
  if (!std::is_permutation(four.begin(), four.begin() + 3, draw.channels.begin()))
    return Error{Errc::invalid_config,
                 fmt::format("channels [{}]: accepted is 0, 1, 2 in any order",
                             fmt::join(draw.channels, ", "))};
  return ok;
}

ColourChainDraw draw_colour_factors(const ColourRanges& ranges, Rng& rng) {
  ColourChainDraw draw;
  draw.brightness = rng.uniform(ranges.brightness[0], ranges.brightness[1]);
  draw.contrast = rng.uniform(ranges.contrast[0], ranges.contrast[1]);
  draw.saturation = rng.uniform(ranges.saturation[0], ranges.saturation[1]);
  draw.hue = rng.uniform(ranges.hue[0], ranges.hue[1]);
  return draw;
}

}  // namespace sluice::aug
