// sluice/aug/geometry/pad.cpp - a frame of constant pixels around the image.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/copy_rows.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/pixels.h"

namespace sluice::aug {
namespace {

struct PadParams {
  int padding = 10;  // pixels, each side
  double fill = 0;   // level, as the image has them: 0 to 255 for u8, 0 to 1 for f32
  std::string border_mode = "constant";
};
struct PadDraw {
  int padding = 10;
  double fill = 0;
};

PadDraw fixed(const PadParams& params, Shape) {
  return {params.padding, params.fill};
}

Shape output(const PadDraw& draw, Shape input) {
  return {input.width + 2 * draw.padding, input.height + 2 * draw.padding, input.channels};
}

template <class T>
void pad_reference(ImageSpan<T> dst, ImageView<T> src, const PadDraw& draw) {
  for (int y = 0; y < dst.height(); ++y)
    for (int x = 0; x < dst.width(); ++x)
      for (int c = 0; c < dst.channels(); ++c) {
        const int from_x = x - draw.padding, from_y = y - draw.padding;
        const bool inside =
            from_x >= 0 && from_y >= 0 && from_x < src.width() && from_y < src.height();
        dst.at(x, y, c) = inside ? src.at(from_x, from_y, c) : static_cast<T>(draw.fill);
      }
}

/// The end of a row and the beginning of the next are filled at once where no gap lies between.
template <class T>
void pad_fast(const Frames<T>& frames, const PadDraw& draw, Scratch&) {
  const T fill = static_cast<T>(draw.fill);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageSpan<T>& dst = frames.dst[f];
    const ImageView<T>& src = frames.src[f];
    const std::size_t side =
        static_cast<std::size_t>(draw.padding) * static_cast<std::size_t>(src.channels());
    const std::size_t row = dst.row_samples();
    const std::size_t between = dst.contiguous() ? side : 0;  // of the next row, filled with this
    const int bottom = draw.padding + src.height();
    for (int y = 0; y < draw.padding; ++y)
      fill_samples(dst.row(y), 0, row, fill);
    for (int y = draw.padding; y < bottom; ++y) {
      T* to = dst.row(y);
      if (between == 0 || y == draw.padding) fill_samples(to, 0, side, fill);
      kernels::copy_rows({reinterpret_cast<std::uint8_t*>(to + side), pitch(dst),
                          row_as_bytes<T>(src, y - draw.padding), pitch(src), src.row_bytes(), 1});
      fill_samples(to, row - side, row + (y + 1 < bottom ? between : 0), fill);
    }
    for (int y = bottom; y < dst.height(); ++y)
      fill_samples(dst.row(y), 0, row, fill);
  }
}

}  // namespace

TransformSpec pad_spec() {
  return make_transform(Definition<PadParams, PadDraw>{
      .name = "Pad",
      .doc = "Adds `padding` pixels of value `fill` on every side.",
      .parity = Parity::equal,
      .params = {field("padding", &PadParams::padding, 0, 4096, "pixels"),
                 field("fill", &PadParams::fill, 0, 255,
                       "level, as the image has them: 0 to 255 for u8, 0 to 1 for f32"),
                 choice("border_mode", &PadParams::border_mode, {"constant"})},
      .draw = {field("padding", &PadDraw::padding, 0, 4096), field("fill", &PadDraw::fill, 0, 255)},
      .fixed = fixed,
      .output = output,
      .fast = {pad_fast, pad_fast},
      .reference = {pad_reference, pad_reference}});
}

}  // namespace sluice::aug
