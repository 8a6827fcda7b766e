// sluice/aug/geometry/erasing.cpp - a random rectangle is filled with a constant.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/geometry/erasing.h"

#include "sluice/aug/make_transform.h"
#include "sluice/aug/pixels.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::aug {
namespace {

struct ErasingParams {
  std::array<double, 2> scale{0.02, 0.33};
  std::array<double, 2> ratio{0.3, 3.3};
  double fill = 0;
};
struct ErasingDraw {
  int x = 0, y = 0, width = 0, height = 0;  // width 0: nothing is erased
  double fill = 0;
};

ErasingDraw sample(const ErasingParams& params, Rng& rng, Shape input) {
  const image::Rect box =
      sample_erasing({params.scale, params.ratio}, rng, input.width, input.height);
  return {box.x, box.y, box.width, box.height, params.fill};
}

Status fits(const ErasingDraw& draw, Shape input) {
  if (draw.width <= input.width - draw.x && draw.height <= input.height - draw.y) return ok;
  return Error{Errc::invalid_input,
               fmt::format("Erasing: a rectangle of {} x {} at ({}, {}) in an image of {} x {}: it "
                           "must lie inside",
                           draw.width, draw.height, draw.x, draw.y, input.width, input.height)};
}

template <class T>
void erasing_reference(ImageSpan<T> dst, ImageView<T> src, const ErasingDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const bool inside =
            x >= draw.x && x < draw.x + draw.width && y >= draw.y && y < draw.y + draw.height;
        dst.at(x, y, c) = inside ? static_cast<T>(draw.fill) : src.at(x, y, c);
      }
}

template <class T>
void erasing_fast(const Frames<T>& frames, const ErasingDraw& draw, Scratch&) {
  const auto channels = static_cast<std::size_t>(frames.src[0].channels());
  const std::size_t begin = static_cast<std::size_t>(draw.x) * channels;
  const std::size_t end = static_cast<std::size_t>(draw.x + draw.width) * channels;
  const T fill = static_cast<T>(draw.fill);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    copy_image(frames.dst[f], frames.src[f]);
    if (draw.width == 0) continue;
    for (int y = draw.y; y < draw.y + draw.height; ++y)
      fill_samples(frames.dst[f].row(y), begin, end, fill);
  }
}

}  // namespace

/// The area is drawn only as large as suits every ratio: up to the tallest and the widest
/// rectangle the image has room for.
image::Rect sample_erasing(const ErasingRanges& ranges, Rng& rng, int columns, int rows) {
  const double width = columns, height = rows;
  const double smallest = ranges.scale[0] * width * height;
  const double largest =
      std::min({ranges.scale[1] * width * height, height * height * ranges.ratio[0],
                width * width / ranges.ratio[1]});
  if (smallest > largest) return {};
  const double area = rng.uniform(smallest, largest);
  const double ratio = rng.uniform(ranges.ratio[0], ranges.ratio[1]);
  image::Rect box;
  box.height = std::min(static_cast<int>(std::nearbyint(std::sqrt(area / ratio))), rows);
  box.width = std::min(static_cast<int>(std::nearbyint(std::sqrt(area * ratio))), columns);
  if (box.height <= 0 || box.width <= 0) return {};
  box.y = rng.between(0, rows - box.height);
  box.x = rng.between(0, columns - box.width);
  return box;
}

TransformSpec erasing_spec() {
  constexpr double kSide = image::kMaxSide;
  return make_transform(Definition<ErasingParams, ErasingDraw>{
      .name = "Erasing",
      .doc = "Fills a rectangle: its area is uniform over `scale` of the image's (no larger than "
             "fits at every ratio; if that leaves nothing, nothing is erased), width / height "
             "uniform over `ratio`, its place uniform.",
      .parity = Parity::equal,
      .params = {range("scale", &ErasingParams::scale, 0, 1, "share of the image's area"),
                 range("ratio", &ErasingParams::ratio, 1e-3, 1e3, "width / height"),
                 field("fill", &ErasingParams::fill, 0, 255,
                       "level, as the image has them: 0 to 255 for u8, 0 to 1 for f32")},
      .draw = {field("x", &ErasingDraw::x, 0, kSide), field("y", &ErasingDraw::y, 0, kSide),
               field("width", &ErasingDraw::width, 0, kSide),
               field("height", &ErasingDraw::height, 0, kSide),
               field("fill", &ErasingDraw::fill, 0, 255)},
      .sample = sample,
      .fits = fits,
      .fast = {erasing_fast, erasing_fast},
      .reference = {erasing_reference, erasing_reference},
      .in_place = true});
}

}  // namespace sluice::aug
