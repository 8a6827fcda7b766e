// sluice/aug/filters/gaussian_blur.cpp - a Gaussian kernel of fixed size.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/filters/gaussian.h"
#include "sluice/aug/kernels/separable.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/staged.h"

namespace sluice::aug {
namespace {

struct GaussianBlurParams {
  std::array<int, 2> kernel_size = {5, 5};
  double sigma = 2;  // pixels
};
struct GaussianBlurDraw {
  int size = 5;
  double sigma = 2;
};

GaussianBlurDraw fixed(const GaussianBlurParams& params, Shape) {
  return {params.kernel_size[0], params.sigma};
}

Status check(const GaussianBlurParams& params) {
  const auto& [width, height] = params.kernel_size;
  if (width == height && width % 2 == 1) return ok;
  return Error{
      Errc::invalid_config,
      fmt::format("kernel_size [{}, {}]: accepted are [3, 3], [5, 5] and [7, 7]", width, height)};
}

Status fits(const GaussianBlurDraw& draw, Shape) {
  if (draw.size % 2 == 1) return ok;
  return Error{Errc::invalid_config, fmt::format("size {}: accepted are 3, 5 and 7", draw.size)};
}

template <class T>
void gaussian_blur_reference(ImageSpan<T> dst, ImageView<T> src, const GaussianBlurDraw& draw) {
  const GaussianTaps taps = gaussian_taps(draw.size, draw.sigma);
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(x, y, c) = static_cast<T>(blurred_reference(src, x, y, c, taps));
}

template <class T>
void gaussian_blur_fast(const Frames<T>& frames, const GaussianBlurDraw& draw, Scratch& scratch) {
  const GaussianTaps taps = gaussian_taps(draw.size, draw.sigma);
  const auto weights = kernels::symmetric_weights(taps.radius, taps.columns, taps.rows, taps.exact);
  const ImageView<T>& first = frames.src[0];
  const auto line = scratch.take<kernels::LineSample<T>>(
      kernels::line_samples(first.width(), first.channels(), taps.radius));
  for_each_staged(frames, scratch, [&](const ImageSpan<T>& dst, const ImageView<T>& src) {
    kernels::blur(dst, src, weights, line.data());
  });
}

}  // namespace

TransformSpec gaussian_blur_spec() {
  return make_transform(Definition<GaussianBlurParams, GaussianBlurDraw>{
      .name = "GaussianBlur",
      .doc =
          "Convolution with a Gaussian of `sigma` cut off at `kernel_size`, borders mirrored. u8 "
          "in fixed point: columns with weights in 256ths, rows in 32768ths.",
      .parity = Parity::smooth,
      .params = {field("kernel_size", &GaussianBlurParams::kernel_size, 3, 7, "width and height"),
                 field("sigma", &GaussianBlurParams::sigma, 0.1, 100, "pixels")},
      .draw = {field("size", &GaussianBlurDraw::size, 3, 7),
               field("sigma", &GaussianBlurDraw::sigma, 0.1, 100)},
      .fixed = fixed,
      .check = check,
      .fits = fits,
      .fast = {gaussian_blur_fast, gaussian_blur_fast},
      .reference = {gaussian_blur_reference, gaussian_blur_reference},
      .f32 = {.max = 1e-6, .reason = "ten sums in single precision against double"}});
}

}  // namespace sluice::aug
