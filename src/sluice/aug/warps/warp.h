// sluice/aug/warps/warp.h - what warps share: the definition of sampling, the loop over rows,
// matrices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/kernels/remap.h"
#include "sluice/aug/transform.h"

#include <array>
#include <cmath>

namespace sluice::aug {

struct Point {
  double x = 0;
  double y = 0;
};

/// Samples outside the source are `fill`, a level of 0 to 255; f32 images get fill / 255.
template <image::Sample T>
T fill_of(double fill) {
  return std::same_as<T, float> ? static_cast<T>(fill / 255) : static_cast<T>(std::lround(fill));
}

/// Finite, and within one pixel of the source: what lies farther out is fill whatever its distance.
inline bool within_reach_reference(Point p, int width, int height) {
  return p.x > -1 && p.y > -1 && p.x < width && p.y < height;
}

/// The definition: every output pixel is the source at map(x, y), pixel centres at integers; the
/// nearest pixel (halves upwards), or the four around it blended by distance.
template <image::Sample T, class Map>
void warp_reference(ImageSpan<T> dst, ImageView<T> src, bool nearest, double fill, Map map) {
  const T outside = fill_of<T>(fill);
  const auto tap = [&](double x, double y, int c) {
    if (x < 0 || y < 0 || x >= src.width() || y >= src.height()) return outside;
    return src.at(static_cast<int>(x), static_cast<int>(y), c);
  };
  for (int y = 0; y < dst.height(); ++y)
    for (int x = 0; x < dst.width(); ++x) {
      const Point from = map(x, y);
      const bool reach = within_reach_reference(from, src.width(), src.height());
      for (int c = 0; c < dst.channels(); ++c) {
        T& to = dst.at(x, y, c);
        to = outside;
        if (!reach) continue;
        if (nearest) {
          to = tap(std::floor(from.x + 0.5), std::floor(from.y + 0.5), c);
          continue;
        }
        const double left = std::floor(from.x), top = std::floor(from.y);
        const double wx = from.x - left, wy = from.y - top;
        const double upper = tap(left, top, c) * (1 - wx) + tap(left + 1, top, c) * wx;
        const double lower = tap(left, top + 1, c) * (1 - wx) + tap(left + 1, top + 1, c) * wx;
        const double value = upper * (1 - wy) + lower * wy;
        to = static_cast<T>(std::same_as<T, float> ? value : std::floor(value + 0.5));
      }
    }
}

/// The fast path: make_row(row, y) writes row.x and row.y, once for all frames.
template <image::Sample T, class MakeRow>
void warp_rows(const Frames<T>& frames, const kernels::RemapRow& row, bool nearest, double fill,
               MakeRow make_row) {
  for (int y = 0; y < frames.dst[0].height(); ++y) {
    make_row(row, y);
    if (nearest)
      kernels::remap_row_nearest(frames, y, row, fill_of<T>(fill));
    else
      kernels::remap_row_bilinear(frames, y, row, fill_of<T>(fill));
  }
}

template <image::Sample T, class MakeRow>
void warp_rows(const Frames<T>& frames, Scratch& scratch, bool nearest, double fill,
               MakeRow make_row) {
  const ImageSpan<T>& dst = frames.dst[0];
  warp_rows(frames, kernels::take_remap_row(scratch, dst.width(), dst.channels(), sizeof(T)),
            nearest, fill, make_row);
}

/// Rows of a matrix that maps pixels of the output to pixels of the input.
using Affine2x3 = std::array<std::array<double, 3>, 2>;
using Matrix3x3 = std::array<std::array<double, 3>, 3>;

inline constexpr Affine2x3 kIdentity2x3 = {{{1, 0, 0}, {0, 1, 0}}};
inline constexpr Matrix3x3 kIdentity3x3 = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

/// Input to output: scaled, turned by `degrees` (positive: anticlockwise), sheared by the angles,
/// all about the centre, then moved. The answer is the inverse.
struct AffineParts {
  double degrees = 0;
  double scale = 1;
  std::array<double, 2> shear{};  // degrees, of x and y; each between -80 and 80
  std::array<double, 2> shift{};  // pixels
};
Affine2x3 output_to_input(const AffineParts& parts, Shape shape);

void warp_affine_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                           const Affine2x3& matrix, bool nearest, double fill);
void warp_affine_reference(ImageSpan<float> dst, ImageView<float> src, const Affine2x3& matrix,
                           bool nearest, double fill);
void warp_affine(const Frames<std::uint8_t>& frames, Scratch& scratch, const Affine2x3& matrix,
                 bool nearest, double fill);
void warp_affine(const Frames<float>& frames, Scratch& scratch, const Affine2x3& matrix,
                 bool nearest, double fill);

/// What a matrix whose denominator is not positive puts nowhere is `fill`.
void warp_perspective_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                                const Matrix3x3& matrix, bool nearest, double fill);
void warp_perspective_reference(ImageSpan<float> dst, ImageView<float> src, const Matrix3x3& matrix,
                                bool nearest, double fill);
void warp_perspective(const Frames<std::uint8_t>& frames, Scratch& scratch, const Matrix3x3& matrix,
                      bool nearest, double fill);
void warp_perspective(const Frames<float>& frames, Scratch& scratch, const Matrix3x3& matrix,
                      bool nearest, double fill);

/// Why fast and reference may differ, for the specs of warps.
inline constexpr Tolerance kBilinearU8 = {
    1, 0, "weights of 1/256 and 1/1024 and f32 coordinates: under 0.7 level before rounding"};
inline constexpr Tolerance kBilinearF32 = {
    2e-4, 0, "f32 coordinates: a few 1e-5 pixel, times a step of 1 between neighbours"};
inline constexpr Tolerance kNearest = {
    0, 0.001, "f32 coordinates: a pixel whose place is halfway within 1e-4 may take its neighbour"};

}  // namespace sluice::aug
