// sluice/aug/filters/blur.cpp - the mean over a square.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/border.h"
#include "sluice/aug/kernels/box.h"
#include "sluice/aug/kernels/separable.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/staged.h"

#include <cmath>

namespace sluice::aug {
namespace {

struct BlurParams {
  int radius = 5;                        // the side of the square, as AlbumentationsX reads it
  std::string border_mode = "constant";  // as published; no library of the comparison follows it
};
struct BlurDraw {
  int side = 5;
};

BlurDraw fixed(const BlurParams& params, Shape) {
  return {params.radius};
}

Error even(const char* name, int value) {
  return {Errc::invalid_config, fmt::format("{} {}: accepted are 3, 5, 7 to 15", name, value)};
}
Status check(const BlurParams& params) {
  return params.radius % 2 == 1 ? Status(ok) : even("radius", params.radius);
}
Status fits(const BlurDraw& draw, Shape) {
  return draw.side % 2 == 1 ? Status(ok) : even("side", draw.side);
}

template <class T>
void blur_reference(ImageSpan<T> dst, ImageView<T> src, const BlurDraw& draw) {
  const int radius = draw.side / 2, count = draw.side * draw.side;
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        double sum = 0;
        for (int j = -radius; j <= radius; ++j)
          for (int i = -radius; i <= radius; ++i)
            sum += static_cast<double>(
                src.at(reflect_101(x + i, src.width()), reflect_101(y + j, src.height()), c));
        if constexpr (std::same_as<T, float>)
          dst.at(x, y, c) = static_cast<float>(sum / count);
        else
          dst.at(x, y, c) = static_cast<T>(std::floor(sum / count + 0.5));
      }
}

template <class T>
void blur_fast(const Frames<T>& frames, const BlurDraw& draw, Scratch& scratch) {
  const ImageView<T>& first = frames.src[0];
  const auto line = scratch.take<kernels::BoxSum<T>>(
      kernels::line_samples(first.width(), first.channels(), draw.side / 2));
  for_each_staged(frames, scratch, [&](const ImageSpan<T>& dst, const ImageView<T>& src) {
    kernels::box_blur(dst, src, draw.side, line.data());
  });
}

}  // namespace

TransformSpec blur_spec() {
  return make_transform(Definition<BlurParams, BlurDraw>{
      .name = "Blur",
      .doc =
          "The mean over `radius` x `radius` pixels, rounded to nearest. Borders are mirrored, as "
          "AlbumentationsX does, whatever `border_mode` says.",
      .parity = Parity::smooth,
      .params = {field("radius", &BlurParams::radius, 3, kernels::kMaxBoxSide,
                       "side of the square, odd"),
                 choice("border_mode", &BlurParams::border_mode, {"constant", "reflect_101"},
                        "kept from the published set, without effect")},
      .draw = {field("side", &BlurDraw::side, 3, kernels::kMaxBoxSide)},
      .fixed = fixed,
      .check = check,
      .fits = fits,
      .fast = {blur_fast, blur_fast},
      .reference = {blur_reference, blur_reference},
      .f32 = {.max = 1e-6, .reason = "25 samples summed in single precision"}});
}

}  // namespace sluice::aug
