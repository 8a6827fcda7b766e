// sluice/aug/kernels/box.h - means over squares, and over a few points around each pixel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/image.h"

#include <cstddef>
#include <span>

namespace sluice::aug::kernels {

inline constexpr int kMaxBoxSide = 15;  // 255 times its square fits 16 bits

template <image::Sample T>
using BoxSum = std::conditional_t<std::same_as<T, float>, float, std::uint16_t>;

/// Mean over side x side pixels, side odd, 3 to kMaxBoxSide; u8 rounded to nearest (an odd number
/// of samples has no half). Borders are mirrored (reflect_101). Rows are at least a vector long or
/// have room (staged.h). `line` holds line_samples(width, channels, side / 2) of separable.h.
void box_blur(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src, int side,
              std::uint16_t* line);
void box_blur(image::ImageSpan<float> dst, image::ImageView<float> src, int side, float* line);

/// Where to read, relative to the pixel.
struct Point {
  int dx = 0, dy = 0;
};
inline constexpr int kMaxPoints = 9;

/// Mean over 1 to kMaxPoints points, at most `radius` away in each direction; u8 rounded half up.
/// `lines` holds (2 radius + 1) times line_samples(width, channels, radius).
void mean_of_points(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src,
                    std::span<const Point> points, int radius, std::uint8_t* lines);
void mean_of_points(image::ImageSpan<float> dst, image::ImageView<float> src,
                    std::span<const Point> points, int radius, float* lines);

}  // namespace sluice::aug::kernels
