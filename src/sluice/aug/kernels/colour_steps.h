// sluice/aug/kernels/colour_steps.h - operations on RGB pixels in 8 bits, any number of them in one
// pass over the image.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::aug::kernels {

enum class ColourOp : std::uint8_t {
  scale,            // min(255, x * first)
  scale_add,        // x * first + offset, rounded down
  scale_scale_add,  // min(255, x * first) * second + offset, rounded down
  saturate,         // grey + (x - grey) * first, ties to even
  hsv,              // hue and saturation moved in 8-bit HSV
};

struct ColourStep {
  ColourOp op = ColourOp::scale;
  std::uint16_t first = 0;   // in 1/8192, below 32768
  std::uint16_t second = 0;  // in 1/8192, below 32768
  int offset = 0;            // in 1/32 level
  int hue_shift = 0;         // 0 to 179, of 180
  int saturation_shift = 0;  // -255 to 255; grey stays grey
};

/// Where the channels of the output come from.
using ChannelOrder = std::array<std::uint8_t, 3>;
inline constexpr ChannelOrder kRgb{0, 1, 2};

/// dst may be src. Steps are taken in their order.
void colour_steps(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                  std::span<const ColourStep> steps, ChannelOrder order);
/// f32 samples are rounded to 8 bits before the steps.
void colour_steps(float* dst, const float* src, std::size_t pixels,
                  std::span<const ColourStep> steps, ChannelOrder order);

/// The sum of the grey levels (BT.601) after the steps, which must leave black black. dst, unless
/// null, receives the pixels; it may be src.
std::uint64_t grey_sum(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                       std::span<const ColourStep> steps);

}  // namespace sluice::aug::kernels
