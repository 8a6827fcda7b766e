// sluice/aug/kernels/neighbours.h - x + weight (n x - sum of the n neighbours): 3x3 sharpening.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/image.h"

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// All eight neighbours, or the four that share a side.
enum class Neighbours : std::uint8_t { eight, four };

/// x + weight (n x - neighbours) - loss x. u8: both terms are rounded half up to 16ths of a level,
/// then their difference to a level.
struct SharpenRule {
  Neighbours neighbours = Neighbours::eight;
  std::int16_t weight = 0;  // 32768ths
  std::int16_t loss = 0;    // 32768ths
  float weight_f32 = 0;
  float loss_f32 = 0;
};

/// Results are clamped, f32 to 0 .. 1. Borders are mirrored (reflect_101).
/// `line` holds line_samples(width, channels, 1) of separable.h. Rows are at least a vector long or
/// have room (staged.h).
void sharpen(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src,
             const SharpenRule& rule, std::int16_t* line);
void sharpen(image::ImageSpan<float> dst, image::ImageView<float> src, const SharpenRule& rule,
             float* line);

}  // namespace sluice::aug::kernels
