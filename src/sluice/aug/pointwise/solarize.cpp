// sluice/aug/pointwise/solarize.cpp - inverts every sample at or above a threshold.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/solarize.h"

#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

#include <cmath>

namespace sluice::aug {
namespace {

struct SolarizeParams {
  double threshold = 0.5;  // share of the largest sample
};
struct SolarizeDraw {
  double threshold = 0.5;
};

SolarizeDraw fixed(const SolarizeParams& params, Shape) {
  return {params.threshold};
}

template <class T>
T level_of(const SolarizeDraw& draw) {
  return std::same_as<T, float> ? static_cast<T>(draw.threshold)
                                : static_cast<T>(std::ceil(draw.threshold * 255));
}

template <class T>
void solarize_reference(ImageSpan<T> dst, ImageView<T> src, const SolarizeDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const T value = src.at(x, y, c);
        const double limit = draw.threshold * kMaxSample<T>;
        dst.at(x, y, c) = value >= static_cast<T>(0) && static_cast<double>(value) >= limit
                              ? static_cast<T>(kMaxSample<T> - value)
                              : value;
      }
}

template <class T>
void solarize_fast(const Frames<T>& frames, const SolarizeDraw& draw, Scratch&) {
  const T level = level_of<T>(draw);
  for_each_run(frames, [&](T* dst, const T* src, std::size_t count) {
    kernels::solarize(dst, src, count, level);
  });
}

}  // namespace

TransformSpec solarize_spec() {
  return make_transform(Definition<SolarizeParams, SolarizeDraw>{
      .name = "Solarize",
      .doc = "Samples at or above `threshold` are inverted: max - x.",
      .parity = Parity::pointwise,
      .params = {field("threshold", &SolarizeParams::threshold, 0, 1,
                       "share of the largest sample")},
      .draw = {field("threshold", &SolarizeDraw::threshold, 0, 1)},
      .fixed = fixed,
      .fast = {solarize_fast, solarize_fast},
      .reference = {solarize_reference, solarize_reference},
      .in_place = true});
}

}  // namespace sluice::aug
