// sluice/aug/pointwise/auto_contrast.cpp - each channel is stretched to the whole range.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/byte_map.h"
#include "sluice/aug/kernels/channel_stats.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"
#include "sluice/aug/through_levels.h"

#include <algorithm>
#include <array>

namespace sluice::aug {
namespace {

/// floor(255 (x - low) / (high - low) + 1/2), at most 255, for every sample; low and high are the
/// extremes of the levels under 255, as the library does not count 255; levels of x are asked of
/// `level`, and put(x, y, c, level) gets the results.
template <class Level, class Put>
void auto_contrast_reference(Shape shape, Level level, Put put) {
  for (int c = 0; c < shape.channels; ++c) {
    int low = 255, high = 0;
    for (int y = 0; y < shape.height; ++y)
      for (int x = 0; x < shape.width; ++x) {
        const int value = level(x, y, c);
        if (value == 255) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
    for (int y = 0; y < shape.height; ++y)
      for (int x = 0; x < shape.width; ++x) {
        const int value = level(x, y, c);
        put(x, y, c,
            high > low ? std::min(255, (510 * (value - low) + (high - low)) / (2 * (high - low)))
                       : value);
      }
  }
}

void auto_contrast_u8_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                                const NoDraw&) {
  auto_contrast_reference(
      shape_of(src), [&](int x, int y, int c) { return static_cast<int>(src.at(x, y, c)); },
      [&](int x, int y, int c, int level) { dst.at(x, y, c) = static_cast<std::uint8_t>(level); });
}
void auto_contrast_f32_reference(ImageSpan<float> dst, ImageView<float> src, const NoDraw&) {
  auto_contrast_reference(
      shape_of(src), [&](int x, int y, int c) { return level_of(src.at(x, y, c)); },
      [&](int x, int y, int c, int level) { dst.at(x, y, c) = static_cast<float>(level / 255.0); });
}

kernels::ByteMap stretch(int low, int high) {
  const int range = high - low;
  std::array<std::uint8_t, 256> table{};
  for (int i = 0; i < 256; ++i)
    table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(
        range > 0 ? (255 * (std::clamp(i, low, high) - low) + range / 2) / range : i);
  return kernels::plan_byte_map(table, range > 0 ? 255.0 / range : 1);
}

void auto_contrast_u8(const Frames<std::uint8_t>& frames, const NoDraw&, Scratch& scratch) {
  const auto channels = static_cast<std::size_t>(frames.src[0].channels());
  const auto maps = scratch.take<kernels::ByteMap>(channels);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    std::array<std::uint8_t, image::kMaxChannels> low{}, above{};
    low.fill(255);
    for_each_pixel_run(frames.dst[f], frames.src[f],
                       [&](std::uint8_t*, const std::uint8_t* from, std::size_t pixels) {
                         kernels::widen_channel_ranges(low.data(), above.data(), from, pixels,
                                                       channels);
                       });
    for (std::size_t c = 0; c < channels; ++c)
      maps[c] = stretch(low[c], above[c] - 1);
    for_each_pixel_run(frames.dst[f], frames.src[f],
                       [&](std::uint8_t* to, const std::uint8_t* from, std::size_t pixels) {
                         kernels::map_byte_channels(to, from, pixels, channels, maps.data());
                       });
  }
}

void auto_contrast_f32(const Frames<float>& frames, const NoDraw& draw, Scratch& scratch) {
  through_levels(frames, scratch, [&](const Frames<std::uint8_t>& levels) {
    auto_contrast_u8(levels, draw, scratch);
  });
}

}  // namespace

TransformSpec auto_contrast_spec() {
  return make_transform(Definition<NoParams, NoDraw>{
      .name = "AutoContrast",
      .doc = "Per channel 255 (x - low) / (high - low), rounded, low and high its extremes under "
             "255; a "
             "channel of one level stays; f32 through 256 levels.",
      .parity = Parity::pointwise,
      .fast = {auto_contrast_u8, auto_contrast_f32},
      .reference = {auto_contrast_u8_reference, auto_contrast_f32_reference},
      .f32 = {.max = 2e-7, .reason = "a product by 1/255 where the definition divides"},
      .in_place = true});
}

}  // namespace sluice::aug
