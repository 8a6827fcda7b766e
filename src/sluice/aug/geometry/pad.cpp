// sluice/aug/geometry/pad.cpp - a frame of constant pixels around the image.
// SPDX-License-Identifier: Apache-2.0
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

template <class T>
void pad_fast(const Frames<T>& frames, const PadDraw& draw, Scratch&) {
  const T fill = static_cast<T>(draw.fill);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageSpan<T>& dst = frames.dst[f];
    const ImageView<T>& src = frames.src[f];
    const std::size_t side =
        static_cast<std::size_t>(draw.padding) * static_cast<std::size_t>(src.channels());
    const std::size_t end = side + src.row_samples();
    for (int y = 0; y < dst.height(); ++y) {
      T* row = dst.row(y);
      const int from = y - draw.padding;
      if (from < 0 || from >= src.height()) {
        fill_samples(row, 0, dst.row_samples(), fill);
        continue;
      }
      fill_samples(row, 0, side, fill);
      std::memcpy(row + side, src.row(from), src.row_bytes());
      fill_samples(row, end, dst.row_samples(), fill);
    }
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
