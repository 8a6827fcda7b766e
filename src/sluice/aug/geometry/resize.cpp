// sluice/aug/geometry/resize.cpp - to a square, or one side to a given length and the other in
// proportion.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/geometry/resizing.h"
#include "sluice/aug/make_transform.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::aug {
namespace {

struct SizeDraw {
  int width = 512, height = 512;
};

struct ResizeParams {
  int target_size = 512;
  std::string interpolation = "bilinear";
};
SizeDraw square(const ResizeParams& params, Shape) {
  return {params.target_size, params.target_size};
}

struct MaxSizeParams {
  int max_size = 512;
  std::string interpolation = "bilinear";
};
SizeDraw in_proportion(const MaxSizeParams& params, Shape input, int side) {
  return {scaled_side(input.width, side, params.max_size),
          scaled_side(input.height, side, params.max_size)};
}
SizeDraw by_longest(const MaxSizeParams& params, Shape input) {
  return in_proportion(params, input, std::max(input.width, input.height));
}
SizeDraw by_smallest(const MaxSizeParams& params, Shape input) {
  return in_proportion(params, input, std::min(input.width, input.height));
}

template <class T>
void resize_reference(ImageSpan<T> dst, ImageView<T> src, const SizeDraw&) {
  image::resize_bilinear_reference(dst, src);
}

template <class T>
void resize_fast(const Frames<T>& frames, const SizeDraw&, Scratch& scratch) {
  resize_frames(frames, scratch);
}

constexpr double kSide = image::kMaxSide;

/// What they share; name, text and the field of its size are the transform's own.
template <class P>
TransformSpec resizing(std::string name, std::string doc, Field<P> size,
                       SizeDraw (*fixed)(const P&, Shape)) {
  return make_transform(Definition<P, SizeDraw>{
      .name = std::move(name),
      .doc = std::move(doc),
      .parity = Parity::smooth,
      .params = {std::move(size), choice("interpolation", &P::interpolation, {"bilinear"})},
      .draw = {field("width", &SizeDraw::width, 1, kSide),
               field("height", &SizeDraw::height, 1, kSide)},
      .fixed = fixed,
      .output = [](const SizeDraw& draw, Shape input) -> Shape {
        return {draw.width, draw.height, input.channels};
      },
      .fast = {resize_fast, resize_fast},
      .reference = {resize_reference, resize_reference},
      .u8 = kResizeU8,
      .f32 = kResizeF32});
}

}  // namespace

TransformSpec resize_spec() {
  return resizing<ResizeParams>(
      "Resize",
      "To `target_size` x `target_size`, bilinear between pixel centres, no antialiasing.",
      field("target_size", &ResizeParams::target_size, 1, kSide, "pixels"), square);
}

TransformSpec longest_max_size_spec() {
  return resizing<MaxSizeParams>(
      "LongestMaxSize",
      "The longer side becomes `max_size` pixels, the other in proportion (rounded, halves to "
      "even, at least 1); bilinear, larger or smaller.",
      field("max_size", &MaxSizeParams::max_size, 1, 8192, "pixels"), by_longest);
}

TransformSpec smallest_max_size_spec() {
  return resizing<MaxSizeParams>(
      "SmallestMaxSize",
      "The shorter side becomes `max_size` pixels, the other in proportion (rounded, halves to "
      "even, at least 1); bilinear, larger or smaller.",
      field("max_size", &MaxSizeParams::max_size, 1, 8192, "pixels"), by_smallest);
}

}  // namespace sluice::aug
