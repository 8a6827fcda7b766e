// sluice/aug/warps/thin_plate_spline.cpp - bends the image like a thin plate pinned at a few
// points.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/warp_map.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/warps/warp.h"

#include <cassert>
#include <utility>

namespace sluice::aug {
namespace {

constexpr std::size_t kMaxPoints = 36;

struct ThinPlateSplineParams {
  int num_control_points = 2;  // per side
  double distortion_scale = 0.5;
};
struct ThinPlateSplineDraw {
  /// How far the input lies from each pin, x and y in turn, as shares of the sides.
  Few<double, 2 * kMaxPoints> displacements{};
};

/// Pins as shares of the sides: a grid, and for four corners the middle as well.
struct Pins {
  std::array<Point, kMaxPoints> at{};
  std::size_t count = 0;
};

Pins pins_of(std::size_t count) {
  Pins pins;
  const int side = count == 5 ? 2 : static_cast<int>(std::lround(std::sqrt(count)));
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      pins.at[pins.count++] = {x / (side - 1.0), y / (side - 1.0)};
  if (side == 2) pins.at[pins.count++] = {0.5, 0.5};
  return pins;
}

double bend(Point a, Point b) {
  const double r2 = (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
  return r2 == 0 ? 0 : 0.5 * r2 * std::log(r2);  // r^2 ln r
}

/// Displacement at p: plane[0] + plane[1] x + plane[2] y + the sum of weights times bend.
struct Spline {
  Pins pins;
  std::array<Point, kMaxPoints> weights{};
  std::array<Point, 3> plane{};
};

/// The interpolating thin plate: Gauss elimination with row exchange.
Spline solve(const ThinPlateSplineDraw& draw) {
  Spline spline;
  spline.pins = pins_of(draw.displacements.size() / 2);
  const std::size_t n = spline.pins.count, size = n + 3;
  constexpr std::size_t kMax = kMaxPoints + 3;
  std::array<std::array<double, kMax + 2>, kMax> m{};
  for (std::size_t i = 0; i < n; ++i) {
    const Point p = spline.pins.at[i];
    for (std::size_t j = 0; j < n; ++j)
      m[i][j] = bend(p, spline.pins.at[j]);
    const std::array<double, 3> terms = {1, p.x, p.y};
    for (std::size_t k = 0; k < 3; ++k)
      m[i][n + k] = m[n + k][i] = terms[k];
    m[i][size] = draw.displacements[2 * i];
    m[i][size + 1] = draw.displacements[2 * i + 1];
  }
  for (std::size_t c = 0; c < size; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < size; ++r)
      if (std::abs(m[r][c]) > std::abs(m[pivot][c])) pivot = r;
    std::swap(m[c], m[pivot]);
    for (std::size_t r = 0; r < size; ++r) {
      if (r == c) continue;
      const double factor = m[r][c] / m[c][c];
      for (std::size_t k = c; k < size + 2; ++k)
        m[r][k] -= factor * m[c][k];
    }
  }
  const auto solution = [&](std::size_t i) {
    return Point{m[i][size] / m[i][i], m[i][size + 1] / m[i][i]};
  };
  for (std::size_t i = 0; i < n; ++i)
    spline.weights[i] = solution(i);
  for (std::size_t k = 0; k < 3; ++k)
    spline.plane[k] = solution(n + k);
  return spline;
}

ThinPlateSplineDraw sample(const ThinPlateSplineParams& params, Rng& rng, Shape) {
  const auto side = static_cast<std::size_t>(params.num_control_points);
  ThinPlateSplineDraw draw;
  for (std::size_t i = 0; i < 2 * (side == 2 ? 5 : side * side); ++i)
    draw.displacements.push(rng.normal() * params.distortion_scale / 10);
  return draw;
}

Status fits(const ThinPlateSplineDraw& draw, Shape) {
  const std::size_t values = draw.displacements.size();
  for (const std::size_t pins : {5U, 9U, 16U, 25U, 36U})
    if (values == 2 * pins) return ok;
  return Error{
      Errc::invalid_input,
      fmt::format("ThinPlateSpline: {} displacements: 10, 18, 32, 50 or 72 are accepted", values)};
}

template <class T>
void thin_plate_spline_reference(ImageSpan<T> dst, ImageView<T> src,
                                 const ThinPlateSplineDraw& draw) {
  const Spline spline = solve(draw);
  const double w = src.width(), h = src.height();
  warp_reference(dst, src, false, 0, [&](double x, double y) {
    const Point p = {x / w, y / h};
    Point moved = {spline.plane[0].x + spline.plane[1].x * p.x + spline.plane[2].x * p.y,
                   spline.plane[0].y + spline.plane[1].y * p.x + spline.plane[2].y * p.y};
    for (std::size_t i = 0; i < spline.pins.count; ++i) {
      const double by = bend(p, spline.pins.at[i]);
      moved.x += spline.weights[i].x * by;
      moved.y += spline.weights[i].y * by;
    }
    return Point{x + moved.x * w, y + moved.y * h};
  });
}

template <class T>
void thin_plate_spline_fast(const Frames<T>& frames, const ThinPlateSplineDraw& draw,
                            Scratch& scratch) {
  const Spline spline = solve(draw);
  const double w = frames.src[0].width(), h = frames.src[0].height();
  std::array<kernels::SplinePoint, kMaxPoints> points{};
  for (std::size_t i = 0; i < spline.pins.count; ++i)
    points[i] = {{static_cast<float>(spline.pins.at[i].x), static_cast<float>(spline.pins.at[i].y)},
                 {static_cast<float>(0.5 * spline.weights[i].x * w),
                  static_cast<float>(0.5 * spline.weights[i].y * h)}};
  const auto& plane = spline.plane;
  const kernels::SplineMap map = {.points = {points.data(), spline.pins.count},
                                  .plane = {{{1 + plane[1].x, plane[2].x * w / h, plane[0].x * w},
                                             {plane[1].y * h / w, 1 + plane[2].y, plane[0].y * h}}},
                                  .scale_x = 1 / w,
                                  .scale_y = 1 / h};
  warp_rows(frames, scratch, false, 0,
            [&](const kernels::RemapRow& row, int y) { kernels::spline_row(row, y, map); });
}

}  // namespace

TransformSpec thin_plate_spline_spec() {
  return make_transform(Definition<ThinPlateSplineParams, ThinPlateSplineDraw>{
      .name = "ThinPlateSpline",
      .doc = "Pins on a grid of `num_control_points` squared (of 2: the corners and the middle) "
             "show what lies N(0, distortion_scale / 10) of the sides away; between them the "
             "interpolating thin plate, r^2 ln r; bilinear, 0 outside.",
      .parity = Parity::smooth,
      .params = {field("num_control_points", &ThinPlateSplineParams::num_control_points, 2, 6,
                       "per side"),
                 field("distortion_scale", &ThinPlateSplineParams::distortion_scale, 0, 1)},
      .draw = {field("displacements", &ThinPlateSplineDraw::displacements, -10, 10,
                     "x and y of each pin, shares of the sides")},
      .sample = sample,
      .fits = fits,
      .fast = {thin_plate_spline_fast, thin_plate_spline_fast},
      .reference = {thin_plate_spline_reference, thin_plate_spline_reference},
      .u8 = kBilinearU8,
      .f32 = kBilinearF32});
}

}  // namespace sluice::aug
