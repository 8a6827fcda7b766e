// sluice/aug/pointwise/grayscale.cpp - every pixel becomes its grey.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/grey.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

namespace sluice::aug {
namespace {

struct GrayscaleParams {
  int num_output_channels = 3;
};
struct GrayscaleDraw {
  int num_output_channels = 3;  // of an RGB image; others keep their count
};

GrayscaleDraw fixed(const GrayscaleParams& params, Shape) {
  return {params.num_output_channels};
}

bool sound(int channels) {
  return channels == 1 || channels == 3;
}
Status check(const GrayscaleParams& params) {
  if (sound(params.num_output_channels)) return ok;
  return Error{Errc::invalid_config, fmt::format("num_output_channels {}: accepted is 1 or 3",
                                                 params.num_output_channels)};
}
Status fits(const GrayscaleDraw& draw, Shape) {
  return check(GrayscaleParams{draw.num_output_channels});
}

Shape output(const GrayscaleDraw& draw, Shape input) {
  if (input.channels == 3) input.channels = draw.num_output_channels;
  return input;
}

std::uint8_t grey_reference(ImageView<std::uint8_t> src, int x, int y) {
  if (src.channels() == 3)  // the weights of OpenCV's integer path
    return static_cast<std::uint8_t>(
        (9798 * src.at(x, y, 0) + 19235 * src.at(x, y, 1) + 3735 * src.at(x, y, 2) + 16384) /
        32768);
  int sum = 0;
  for (int c = 0; c < src.channels(); ++c)
    sum += src.at(x, y, c);
  return static_cast<std::uint8_t>(sum / src.channels());
}

float grey_reference(ImageView<float> src, int x, int y) {
  const auto at = [&](int c) { return static_cast<double>(src.at(x, y, c)); };
  if (src.channels() == 3) return static_cast<float>(0.299 * at(0) + 0.587 * at(1) + 0.114 * at(2));
  double sum = 0;
  for (int c = 0; c < src.channels(); ++c)
    sum += at(c);
  return static_cast<float>(sum / src.channels());
}

template <class T>
void grayscale_reference(ImageSpan<T> dst, ImageView<T> src, const GrayscaleDraw&) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x) {
      const T grey = grey_reference(src, x, y);
      for (int c = 0; c < dst.channels(); ++c)
        dst.at(x, y, c) = grey;
    }
}

template <class T>
void grayscale_fast(const Frames<T>& frames, const GrayscaleDraw& draw, Scratch&) {
  const auto channels = static_cast<std::size_t>(frames.src[0].channels());
  for (std::size_t f = 0; f < frames.size(); ++f)
    for_each_pixel_run(frames.dst[f], frames.src[f], [&](T* dst, const T* src, std::size_t pixels) {
      if (channels == 3)
        kernels::grey_rgb(dst, src, pixels, draw.num_output_channels);
      else
        kernels::grey_mean(dst, src, pixels, channels);
    });
}

}  // namespace

TransformSpec grayscale_spec() {
  return make_transform(Definition<GrayscaleParams, GrayscaleDraw>{
      .name = "Grayscale",
      .doc = "RGB: 0.299 r + 0.587 g + 0.114 b, rounded, in each of `num_output_channels`; other "
             "channel counts: the mean of the channels, u8 rounded down, in each.",
      .parity = Parity::pointwise,
      .params = {field("num_output_channels", &GrayscaleParams::num_output_channels, 1, 3,
                       "1 or 3; of an RGB image")},
      .draw = {field("num_output_channels", &GrayscaleDraw::num_output_channels, 1, 3)},
      .fixed = fixed,
      .output = output,
      .check = check,
      .fits = fits,
      .fast = {grayscale_fast, grayscale_fast},
      .reference = {grayscale_reference, grayscale_reference},
      .f32 = {.max = 1e-6, .reason = "sums in single precision"}});
}

}  // namespace sluice::aug
