// sluice/aug/kernels/warp_map.h - source coordinates of a row of output pixels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/kernels/remap.h"

#include <array>
#include <span>

namespace sluice::aug::kernels {

/// Row `y` of a homography, output to input, row major. Where its denominator is not positive the
/// coordinates lie outside.
void matrix_row(const RemapRow& row, int y, const std::array<double, 9>& matrix);

/// center + (p - center) * (1 + gain * |p - center|^2).
struct RadialMap {
  double center_x = 0;
  double center_y = 0;
  double gain = 0;  // per square pixel
};
void radial_row(const RemapRow& row, int y, const RadialMap& map);

/// bend is multiplied with r^2 ln(r^2), r being the distance of (x scale_x, y scale_y) to `at`.
struct SplinePoint {
  std::array<float, 2> at{};
  std::array<float, 2> bend{};  // in source pixels
};
struct SplineMap {
  std::span<const SplinePoint> points;
  std::array<std::array<double, 3>, 2> plane{};  // of x, y, 1, in pixels
  double scale_x = 1;
  double scale_y = 1;
};
void spline_row(const RemapRow& row, int y, const SplineMap& map);

}  // namespace sluice::aug::kernels
