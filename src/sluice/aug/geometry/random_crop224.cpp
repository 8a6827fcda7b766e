// sluice/aug/geometry/random_crop224.cpp - a window of fixed size; zeros around an image that is
// smaller.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/geometry/crop_draws.h"
#include "sluice/aug/kernels/copy_rows.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/pixels.h"

#include <fmt/format.h>

namespace sluice::aug {
namespace {

struct RandomCrop224Params {
  int height = 224;
  int width = 224;
};

/// A side that is long enough: any position, equally likely. One that is not: the image in the
/// middle, the odd pixel of zeros behind it.
int place(Rng& rng, int window, int side) {
  if (side <= window) return -((window - side) / 2);
  return static_cast<int>(rng.below(static_cast<std::uint64_t>(side - window + 1)));
}

RandomCrop224Draw sample(const RandomCrop224Params& params, Rng& rng, Shape input) {
  RandomCrop224Draw draw;
  draw.y = place(rng, params.height, input.height);
  draw.x = place(rng, params.width, input.width);
  draw.width = params.width;
  draw.height = params.height;
  return draw;
}

Shape output(const RandomCrop224Draw& draw, Shape input) {
  return {draw.width, draw.height, input.channels};
}

template <class T>
void random_crop224_reference(ImageSpan<T> dst, ImageView<T> src, const RandomCrop224Draw& draw) {
  for (int y = 0; y < dst.height(); ++y)
    for (int x = 0; x < dst.width(); ++x)
      for (int c = 0; c < dst.channels(); ++c) {
        const int from_x = x + draw.x, from_y = y + draw.y;
        const bool inside =
            from_x >= 0 && from_y >= 0 && from_x < src.width() && from_y < src.height();
        dst.at(x, y, c) = inside ? src.at(from_x, from_y, c) : T{0};
      }
}

template <class T>
void random_crop224_fast(const Frames<T>& frames, const RandomCrop224Draw& draw, Scratch&) {
  const Shape input = shape_of(frames.src[0]);
  const int left = std::clamp(-draw.x, 0, draw.width);  // first output column that has pixels
  const int right = std::clamp(input.width - draw.x, left, draw.width);
  const auto channels = static_cast<std::size_t>(input.channels);
  const std::size_t begin = static_cast<std::size_t>(left) * channels;
  const std::size_t end = static_cast<std::size_t>(right) * channels;
  const int top = std::clamp(-draw.y, 0, draw.height);  // likewise rows
  const int bottom = begin == end ? top : std::clamp(input.height - draw.y, top, draw.height);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageSpan<T>& dst = frames.dst[f];
    for (int y = 0; y < draw.height; ++y) {
      const bool inside = y >= top && y < bottom;
      fill_samples(dst.row(y), 0, inside ? begin : dst.row_samples(), T{0});
      if (inside) fill_samples(dst.row(y), end, dst.row_samples(), T{0});
    }
    if (top < bottom)
      kernels::copy_rows({row_as_bytes<T>(dst, top) + begin * sizeof(T), pitch(dst),
                          row_as_bytes<T>(frames.src[f], top + draw.y) +
                              static_cast<std::size_t>(left + draw.x) * channels * sizeof(T),
                          pitch(frames.src[f]), (end - begin) * sizeof(T),
                          static_cast<std::size_t>(bottom - top)});
  }
}

}  // namespace

TransformSpec random_crop224_spec() {
  constexpr double kSide = image::kMaxSide;
  return make_transform(Definition<RandomCrop224Params, RandomCrop224Draw>{
      .name = "RandomCrop224",
      .doc = "A window of `width` x `height` anywhere in the image, each place equally likely. A "
             "side that is shorter than the window is centred among zeros, the odd one behind it.",
      .parity = Parity::equal,
      .params = {field("height", &RandomCrop224Params::height, 1, kSide, "pixels"),
                 field("width", &RandomCrop224Params::width, 1, kSide, "pixels")},
      .draw = {field("x", &RandomCrop224Draw::x, -kSide, kSide),
               field("y", &RandomCrop224Draw::y, -kSide, kSide),
               field("width", &RandomCrop224Draw::width, 1, kSide),
               field("height", &RandomCrop224Draw::height, 1, kSide)},
      .sample = sample,
      .output = output,
      .fast = {random_crop224_fast, random_crop224_fast},
      .reference = {random_crop224_reference, random_crop224_reference}});
}

}  // namespace sluice::aug
