// sluice/aug/pointwise/posterize.cpp - only the high bits of every sample stay.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/bits.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"
#include "sluice/aug/through_levels.h"

namespace sluice::aug {
namespace {

struct PosterizeParams {
  int bits = 4;
};
struct PosterizeDraw {
  int bits = 4;
};

PosterizeDraw fixed(const PosterizeParams& params, Shape) {
  return {params.bits};
}

int step_of(const PosterizeDraw& draw) {
  return 1 << (8 - draw.bits);
}

void posterize_u8_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                            const PosterizeDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(x, y, c) =
            static_cast<std::uint8_t>(src.at(x, y, c) / step_of(draw) * step_of(draw));
}

void posterize_f32_reference(ImageSpan<float> dst, ImageView<float> src,
                             const PosterizeDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(x, y, c) =
            static_cast<float>(level_of(src.at(x, y, c)) / step_of(draw) * step_of(draw) / 255.0);
}

void posterize_u8(const Frames<std::uint8_t>& frames, const PosterizeDraw& draw, Scratch&) {
  const auto mask = static_cast<std::uint8_t>(0xFF << (8 - draw.bits));
  for_each_run(frames, [&](std::uint8_t* dst, const std::uint8_t* src, std::size_t count) {
    kernels::keep_bits(dst, src, count, mask);
  });
}

void posterize_f32(const Frames<float>& frames, const PosterizeDraw& draw, Scratch& scratch) {
  through_levels(frames, scratch,
                 [&](const Frames<std::uint8_t>& levels) { posterize_u8(levels, draw, scratch); });
}

}  // namespace

TransformSpec posterize_spec() {
  return make_transform(Definition<PosterizeParams, PosterizeDraw>{
      .name = "Posterize",
      .doc = "The `bits` high bits of every sample stay, the others become 0; f32 through 256 "
             "levels.",
      .parity = Parity::pointwise,
      .params = {field("bits", &PosterizeParams::bits, 1, 8)},
      .draw = {field("bits", &PosterizeDraw::bits, 1, 8)},
      .fixed = fixed,
      .fast = {posterize_u8, posterize_f32},
      .reference = {posterize_u8_reference, posterize_f32_reference},
      .f32 = {.max = 2e-7, .reason = "a product by 1/255 where the definition divides"},
      .in_place = true});
}

}  // namespace sluice::aug
