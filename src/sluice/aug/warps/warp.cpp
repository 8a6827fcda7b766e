// sluice/aug/warps/warp.cpp - affine warps: the matrix, its definition and its fast path.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/warps/warp.h"

#include "sluice/aug/kernels/warp_map.h"

#include <algorithm>
#include <numbers>

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

template <class T>
void perspective_fast(const Frames<T>& frames, Scratch& scratch, const Matrix3x3& m, bool nearest,
                      double fill) {
  const ImageSpan<T>& dst = frames.dst[0];
  const double least = m[2][2] + std::min(m[2][0] * (dst.width() - 1), 0.0) +
                       std::min(m[2][1] * (dst.height() - 1), 0.0);
  kernels::RemapRow row = kernels::take_remap_row(scratch, dst.width(), dst.channels(), sizeof(T));
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
