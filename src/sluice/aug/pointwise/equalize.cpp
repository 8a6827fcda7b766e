// sluice/aug/pointwise/equalize.cpp - each channel's histogram is made flat.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/channel_stats.h"
#include "sluice/aug/kernels/lut.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"
#include "sluice/aug/through_levels.h"

#include <algorithm>
#include <array>
#include <string>

namespace sluice::aug {
namespace {

struct EqualizeParams {
  std::string mode = "pil";
};

/// Level l becomes (step / 2 + samples at or below l) / step, at most 255, with step the samples
/// below the highest level / 255 (all quotients whole); where step is 0 the channel stays.
template <class Level, class Put>
void equalize_reference(Shape shape, Level level, Put put) {
  for (int c = 0; c < shape.channels; ++c) {
    std::array<long, 256> at_or_below{};
    int highest = 0;
    for (int y = 0; y < shape.height; ++y)
      for (int x = 0; x < shape.width; ++x) {
        highest = std::max(highest, level(x, y, c));
        for (int l = level(x, y, c); l < 256; ++l)
          ++at_or_below[static_cast<std::size_t>(l)];
      }
    const long step = highest > 0 ? at_or_below[static_cast<std::size_t>(highest - 1)] / 255 : 0;
    for (int y = 0; y < shape.height; ++y)
      for (int x = 0; x < shape.width; ++x) {
        const int value = level(x, y, c);
        put(x, y, c,
            step == 0
                ? value
                : static_cast<int>(std::min(
                      255L, (step / 2 + at_or_below[static_cast<std::size_t>(value)]) / step)));
      }
  }
}

void equalize_u8_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                           const NoDraw&) {
  equalize_reference(
      shape_of(src), [&](int x, int y, int c) { return static_cast<int>(src.at(x, y, c)); },
      [&](int x, int y, int c, int level) { dst.at(x, y, c) = static_cast<std::uint8_t>(level); });
}
void equalize_f32_reference(ImageSpan<float> dst, ImageView<float> src, const NoDraw&) {
  equalize_reference(
      shape_of(src), [&](int x, int y, int c) { return level_of(src.at(x, y, c)); },
      [&](int x, int y, int c, int level) { dst.at(x, y, c) = static_cast<float>(level / 255.0); });
}

void flat_table(std::uint8_t* table, const std::uint32_t* counts) {
  std::uint64_t total = 0, last = 0;
  for (std::size_t i = 0; i < kernels::kLevels; ++i) {
    total += counts[i];
    if (counts[i] != 0) last = counts[i];
  }
  const std::uint64_t step = (total - last) / 255;
  std::uint64_t sum = step / 2;
  for (std::size_t i = 0; i < kernels::kLevels; ++i) {
    sum += counts[i];
    table[i] = static_cast<std::uint8_t>(step == 0 ? i : std::min<std::uint64_t>(sum / step, 255));
  }
}

void equalize_u8(const Frames<std::uint8_t>& frames, const NoDraw&, Scratch& scratch) {
  const auto channels = static_cast<std::size_t>(frames.src[0].channels());
  const auto tables = scratch.take<std::uint8_t>(channels * kernels::kLevels);
  const auto counts = scratch.take<std::uint32_t>(channels * kernels::kLevels);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    std::fill(counts.begin(), counts.end(), 0U);
    for_each_pixel_run(frames.dst[f], frames.src[f],
                       [&](std::uint8_t*, const std::uint8_t* from, std::size_t pixels) {
                         kernels::add_channel_histograms(counts.data(), from, pixels, channels);
                       });
    for (std::size_t c = 0; c < channels; ++c)
      flat_table(tables.data() + kernels::kLevels * c, counts.data() + kernels::kLevels * c);
    for_each_pixel_run(frames.dst[f], frames.src[f],
                       [&](std::uint8_t* to, const std::uint8_t* from, std::size_t pixels) {
                         kernels::lut_channels(to, from, pixels, channels, tables.data());
                       });
  }
}

void equalize_f32(const Frames<float>& frames, const NoDraw& draw, Scratch& scratch) {
  through_levels(frames, scratch,
                 [&](const Frames<std::uint8_t>& levels) { equalize_u8(levels, draw, scratch); });
}

}  // namespace

TransformSpec equalize_spec() {
  return make_transform(Definition<EqualizeParams, NoDraw>{
      .name = "Equalize",
      .doc = "Per channel: level l becomes (step / 2 + samples at or below l) / step, at most 255, "
             "step being the samples below the highest level / 255 in whole numbers; step 0: "
             "unchanged; f32 through 256 levels.",
      .parity = Parity::pointwise,
      .params = {choice("mode", &EqualizeParams::mode, {"pil"})},
      .fast = {equalize_u8, equalize_f32},
      .reference = {equalize_u8_reference, equalize_f32_reference},
      .f32 = {.max = 2e-7, .reason = "a product by 1/255 where the definition divides"},
      .in_place = true});
}

}  // namespace sluice::aug
