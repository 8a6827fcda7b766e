// sluice/aug/warps/warp.cpp - affine warps: the matrix, its definition and its fast path.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/warps/warp.h"

#include "sluice/aug/kernels/warp_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

namespace sluice::aug {
namespace {

template <class T>
void perspective_reference(ImageSpan<T> dst, ImageView<T> src, const Matrix3x3& m, bool nearest,
                           double fill) {
  warp_reference(dst, src, nearest, fill, [&](double x, double y) {
    const double w = m[2][0] * x + m[2][1] * y + m[2][2];
    if (!(w > 0)) return Point{-1e9, -1e9};
    return Point{(m[0][0] * x + m[0][1] * y + m[0][2]) / w,
                 (m[1][0] * x + m[1][1] * y + m[1][2]) / w};
  });
}

/// Columns that are made together, rows of them from the top down. A row of a wide output may cross
/// hundreds of source rows, each on a page of its own: more than the processor remembers pages. The
/// next row needs the same lines again, so few of them at a time is better.
int strip_width(const Matrix3x3& m, int width) {
  constexpr int kLeast = 512;         // below, starting a row costs more than pages do
  constexpr double kRowsAtOnce = 64;  // of the source
  constexpr double kEnlarging = 0.6;  // area of the source for a pixel: rows use it again anyway
  const double slope = std::abs(m[1][0]);  // of a perspective: near enough
  const double area = std::abs(m[0][0] * m[1][1] - m[0][1] * m[1][0]);
  if (width < 2 * kLeast || slope * width < 2 * kRowsAtOnce || area < kEnlarging) return width;
  const int strip = static_cast<int>(kRowsAtOnce / slope) / kernels::kRemapBlock;
  return std::clamp(strip * kernels::kRemapBlock, kLeast, width);
}

template <class T>
void strip_fast(const Frames<T>& frames, kernels::RemapRow row, const Matrix3x3& m, bool nearest,
                double fill) {
  const ImageSpan<T>& dst = frames.dst[0];
  const double least = m[2][2] + std::min(m[2][0] * (dst.width() - 1), 0.0) +
                       std::min(m[2][1] * (dst.height() - 1), 0.0);
  row.width = dst.width();
  row.monotone = least > 0;
  if (nearest && m[2] == kIdentity3x3[2] &&
      kernels::warp_nearest_affine(
          frames, row, {m[0][0], m[0][1], m[0][2], m[1][0], m[1][1], m[1][2]}, fill_of<T>(fill)))
    return;
  const std::array<double, 9> matrix = {m[0][0], m[0][1], m[0][2], m[1][0], m[1][1],
                                        m[1][2], m[2][0], m[2][1], m[2][2]};
  warp_rows(frames, row, nearest, fill,
            [&](const kernels::RemapRow& r, int y) { kernels::matrix_row(r, y, matrix); });
}

template <class T>
void perspective_fast(const Frames<T>& frames, Scratch& scratch, const Matrix3x3& m, bool nearest,
                      double fill) {
  const ImageSpan<T>& whole = frames.dst[0];
  const int strip = strip_width(m, whole.width());
  const kernels::RemapRow row =
      kernels::take_remap_row(scratch, strip, whole.channels(), sizeof(T));
  if (strip == whole.width()) return strip_fast(frames, row, m, nearest, fill);
  std::array<ImageSpan<T>, 32> parts;  // of so many frames at a time
  for (std::size_t first = 0; first < frames.size(); first += parts.size()) {
    const std::size_t count = std::min(parts.size(), frames.size() - first);
    for (int x = 0; x < whole.width(); x += strip) {
      const int width = std::min(strip, whole.width() - x);
      for (std::size_t f = 0; f < count; ++f)
        parts[f] = frames.dst[first + f].crop(x, 0, width, whole.height());
      Matrix3x3 moved = m;
      for (auto& line : moved)
        line[2] += line[0] * x;
      strip_fast(Frames<T>{std::span(parts).first(count), frames.src.subspan(first, count)}, row,
                 moved, nearest, fill);
    }
  }
}

Matrix3x3 with_last_row(const Affine2x3& m) {
  return {m[0], m[1], {0, 0, 1}};
}

}  // namespace

Affine2x3 output_to_input(const AffineParts& parts, Shape shape) {
  constexpr double kRadian = std::numbers::pi / 180;
  const double cosine = std::cos(parts.degrees * kRadian) * parts.scale;
  const double sine = std::sin(parts.degrees * kRadian) * parts.scale;
  const double shear_x = std::tan(parts.shear[0] * kRadian);
  const double shear_y = std::tan(parts.shear[1] * kRadian);
  // shear * turn, input to output
  const double a = cosine + shear_x * sine, b = sine - shear_x * cosine;
  const double c = -shear_y * cosine - sine, d = -shear_y * sine + cosine;
  const double determinant = a * d - b * c;
  const double ia = d / determinant, ib = -b / determinant;
  const double ic = -c / determinant, id = a / determinant;
  const double cx = (shape.width - 1) / 2.0, cy = (shape.height - 1) / 2.0;
  const double from_x = cx + parts.shift[0], from_y = cy + parts.shift[1];
  return {{{ia, ib, cx - ia * from_x - ib * from_y}, {ic, id, cy - ic * from_x - id * from_y}}};
}

void warp_affine_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                           const Affine2x3& matrix, bool nearest, double fill) {
  perspective_reference(dst, src, with_last_row(matrix), nearest, fill);
}
void warp_affine_reference(ImageSpan<float> dst, ImageView<float> src, const Affine2x3& matrix,
                           bool nearest, double fill) {
  perspective_reference(dst, src, with_last_row(matrix), nearest, fill);
}
void warp_affine(const Frames<std::uint8_t>& frames, Scratch& scratch, const Affine2x3& matrix,
                 bool nearest, double fill) {
  perspective_fast(frames, scratch, with_last_row(matrix), nearest, fill);
}
void warp_affine(const Frames<float>& frames, Scratch& scratch, const Affine2x3& matrix,
                 bool nearest, double fill) {
  perspective_fast(frames, scratch, with_last_row(matrix), nearest, fill);
}
void warp_perspective_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                                const Matrix3x3& matrix, bool nearest, double fill) {
  perspective_reference(dst, src, matrix, nearest, fill);
}
void warp_perspective_reference(ImageSpan<float> dst, ImageView<float> src, const Matrix3x3& matrix,
                                bool nearest, double fill) {
  perspective_reference(dst, src, matrix, nearest, fill);
}
void warp_perspective(const Frames<std::uint8_t>& frames, Scratch& scratch, const Matrix3x3& matrix,
                      bool nearest, double fill) {
  perspective_fast(frames, scratch, matrix, nearest, fill);
}
void warp_perspective(const Frames<float>& frames, Scratch& scratch, const Matrix3x3& matrix,
                      bool nearest, double fill) {
  perspective_fast(frames, scratch, matrix, nearest, fill);
}

}  // namespace sluice::aug
