// sluice/aug/geometry/random_resized_crop.cpp - a random part of the image, resized.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/geometry/crop_draws.h"
#include "sluice/aug/geometry/resized_crop.h"
#include "sluice/aug/geometry/resizing.h"
#include "sluice/aug/make_transform.h"

#include <fmt/format.h>

namespace sluice::aug {
namespace {

struct RandomResizedCropParams {
  std::array<int, 2> size{224, 224};  // height, width
  std::array<double, 2> scale{0.08, 1.0};
  std::array<double, 2> ratio{0.75, 1.3333};
  std::string interpolation = "bilinear";
};

RandomResizedCropDraw sample(const RandomResizedCropParams& params, Rng& rng, Shape input) {
  const image::Rect part =
      sample_resized_crop({params.scale, params.ratio}, rng, input.width, input.height);
  return {part.x, part.y, part.width, part.height, params.size[1], params.size[0]};
}

Shape output(const RandomResizedCropDraw& draw, Shape input) {
  return {draw.out_width, draw.out_height, input.channels};
}

Status fits(const RandomResizedCropDraw& draw, Shape input) {
  if (draw.width <= input.width - draw.x && draw.height <= input.height - draw.y) return ok;
  return Error{Errc::invalid_input,
               fmt::format("RandomResizedCrop: a part of {} x {} at ({}, {}) of an image of {} x "
                           "{}: it must lie inside",
                           draw.width, draw.height, draw.x, draw.y, input.width, input.height)};
}

template <class T>
void random_resized_crop_reference(ImageSpan<T> dst, ImageView<T> src,
                                   const RandomResizedCropDraw& draw) {
  image::resize_bilinear_reference(dst, src.crop(draw.x, draw.y, draw.width, draw.height));
}

template <class T>
void random_resized_crop_fast(const Frames<T>& frames, const RandomResizedCropDraw& draw,
                              Scratch& scratch) {
  const auto parts = scratch.take<ImageView<T>>(frames.size());
  for (std::size_t f = 0; f < frames.size(); ++f)
    parts[f] = frames.src[f].crop(draw.x, draw.y, draw.width, draw.height);
  resize_frames(Frames<T>{frames.dst, parts}, scratch);
}

}  // namespace

TransformSpec random_resized_crop_spec() {
  constexpr double kSide = image::kMaxSide;
  using P = RandomResizedCropParams;
  using D = RandomResizedCropDraw;
  return make_transform(Definition<P, D>{
      .name = "RandomResizedCrop",
      .doc = "A part whose area is uniform over `scale` of the image's and whose width / height is "
             "log-uniform over `ratio`, anywhere; after ten that do not fit, the middle. Then "
             "bilinear to `size`.",
      .parity = Parity::smooth,
      .params = {field("size", &P::size, 1, kSide, "height, width"),
                 range("scale", &P::scale, 0, 1, "share of the image's area"),
                 range("ratio", &P::ratio, 1e-3, 1e3, "width / height"),
                 choice("interpolation", &P::interpolation, {"bilinear"})},
      .draw = {field("x", &D::x, 0, kSide), field("y", &D::y, 0, kSide),
               field("width", &D::width, 1, kSide), field("height", &D::height, 1, kSide),
               field("out_width", &D::out_width, 1, kSide),
               field("out_height", &D::out_height, 1, kSide)},
      .sample = sample,
      .output = output,
      .fits = fits,
      .fast = {random_resized_crop_fast, random_resized_crop_fast},
      .reference = {random_resized_crop_reference, random_resized_crop_reference},
      .u8 = kResizeU8,
      .f32 = kResizeF32});
}

}  // namespace sluice::aug
