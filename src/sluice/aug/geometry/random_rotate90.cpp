// sluice/aug/geometry/random_rotate90.cpp - quarter turns.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/mirror.h"
#include "sluice/aug/kernels/transpose.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/pixels.h"

namespace sluice::aug {
namespace {

struct RandomRotate90Params {
  std::array<int, 2> times{0, 3};
};
struct RandomRotate90Draw {
  int times = 0;  // counter-clockwise quarter turns
};

RandomRotate90Draw sample(const RandomRotate90Params& params, Rng& rng, Shape) {
  const auto choices = static_cast<std::uint64_t>(params.times[1] - params.times[0] + 1);
  return {params.times[0] + static_cast<int>(rng.below(choices))};
}

Shape output(const RandomRotate90Draw& draw, Shape input) {
  return draw.times % 2 == 0 ? input : Shape{input.height, input.width, input.channels};
}

template <class T>
void random_rotate90_reference(ImageSpan<T> dst, ImageView<T> src, const RandomRotate90Draw& draw) {
  const int right = src.width() - 1, bottom = src.height() - 1;
  for (int y = 0; y < dst.height(); ++y)
    for (int x = 0; x < dst.width(); ++x)
      for (int c = 0; c < dst.channels(); ++c) {
        switch (draw.times) {
          case 0:
            dst.at(x, y, c) = src.at(x, y, c);
            break;
          case 1:
            dst.at(x, y, c) = src.at(right - y, x, c);
            break;
          case 2:
            dst.at(x, y, c) = src.at(right - x, bottom - y, c);
            break;
          default:
            dst.at(x, y, c) = src.at(y, bottom - x, c);
            break;
        }
      }
}

/// One turn is a transpose whose output is walked from the bottom, three turns one whose input is.
template <class T>
void turn(const ImageSpan<T>& dst, const ImageView<T>& src, int times) {
  const auto width = static_cast<std::size_t>(src.width());
  const auto height = static_cast<std::size_t>(src.height());
  switch (times) {
    case 0:
      copy_image(dst, src);
      break;
    case 1:
      kernels::transpose({row_as_bytes<T>(dst, dst.height() - 1), -pitch(dst),
                          row_as_bytes<T>(src, 0), pitch(src), width, height, pixel_bytes(src)});
      break;
    case 2:
      kernels::mirror({row_as_bytes<T>(dst, dst.height() - 1), -pitch(dst), row_as_bytes<T>(src, 0),
                       pitch(src), width, height, pixel_bytes(src)});
      break;
    default:
      kernels::transpose({row_as_bytes<T>(dst, 0), pitch(dst),
                          row_as_bytes<T>(src, src.height() - 1), -pitch(src), width, height,
                          pixel_bytes(src)});
      break;
  }
}

template <class T>
void random_rotate90_fast(const Frames<T>& frames, const RandomRotate90Draw& draw, Scratch&) {
  for (std::size_t f = 0; f < frames.size(); ++f)
    turn<T>(frames.dst[f], frames.src[f], draw.times);
}

}  // namespace

TransformSpec random_rotate90_spec() {
  return make_transform(Definition<RandomRotate90Params, RandomRotate90Draw>{
      .name = "RandomRotate90",
      .doc = "Turns the image counter-clockwise by 90 degrees, `times` times.",
      .parity = Parity::equal,
      .params = {range("times", &RandomRotate90Params::times, 0, 3,
                       "quarter turns, each number equally likely")},
      .draw = {field("times", &RandomRotate90Draw::times, 0, 3)},
      .sample = sample,
      .output = output,
      .fast = {random_rotate90_fast, random_rotate90_fast},
      .reference = {random_rotate90_reference, random_rotate90_reference}});
}

}  // namespace sluice::aug
