// sluice/aug/warps/perspective.cpp - looks at the image from aside: corners move inwards.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/warp_map.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/warps/warp.h"

#include <algorithm>

namespace sluice::aug {
namespace {

struct PerspectiveParams {
  std::array<double, 2> scale = {0.05, 0.1};
  std::string interpolation = "bilinear";
  double fill = 0;
};
struct PerspectiveDraw {
  Matrix3x3 matrix = kIdentity3x3;
  bool nearest = false;
  double fill = 0;
};

double distance(Point a, Point b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

/// Maps (0,0), (w,0), (w,h), (0,h) to the corners (Heckbert, 1989). They must be convex.
Matrix3x3 rectangle_to(const std::array<Point, 4>& c, double w, double h) {
  const double sum_x = c[0].x - c[1].x + c[2].x - c[3].x;
  const double sum_y = c[0].y - c[1].y + c[2].y - c[3].y;
  const double dx1 = c[1].x - c[2].x, dx2 = c[3].x - c[2].x;
  const double dy1 = c[1].y - c[2].y, dy2 = c[3].y - c[2].y;
  const double det = dx1 * dy2 - dx2 * dy1;
  const double g = (sum_x * dy2 - dx2 * sum_y) / det;
  const double k = (dx1 * sum_y - sum_x * dy1) / det;
  return {{{(c[1].x - c[0].x + g * c[1].x) / w, (c[3].x - c[0].x + k * c[3].x) / h, c[0].x},
           {(c[1].y - c[0].y + g * c[1].y) / w, (c[3].y - c[0].y + k * c[3].y) / h, c[0].y},
           {g / w, k / h, 1}}};
}

PerspectiveDraw sample(const PerspectiveParams& params, Rng& rng, Shape shape) {
  const double scale = rng.uniform(params.scale[0], params.scale[1]);
  const double w = shape.width, h = shape.height;
  std::array<Point, 4> corners = {Point{0, 0}, Point{1, 0}, Point{1, 1}, Point{0, 1}};
  for (Point& corner : corners) {
    // Under half: the corners stay convex.
    const double in_x = std::min(std::abs(rng.normal()) * scale, 0.45);
    const double in_y = std::min(std::abs(rng.normal()) * scale, 0.45);
    corner = {(corner.x > 0.5 ? 1 - in_x : in_x) * w, (corner.y > 0.5 ? 1 - in_y : in_y) * h};
  }
  const double seen_w =
      std::max({distance(corners[0], corners[1]), distance(corners[3], corners[2]), w / 16});
  const double seen_h =
      std::max({distance(corners[0], corners[3]), distance(corners[1], corners[2]), h / 16});
  return {rectangle_to(corners, w * w / seen_w, h * h / seen_h), params.interpolation == "nearest",
          params.fill};
}

template <class T>
void perspective_reference(ImageSpan<T> dst, ImageView<T> src, const PerspectiveDraw& draw) {
  warp_perspective_reference(dst, src, draw.matrix, draw.nearest, draw.fill);
}

template <class T>
void perspective_fast(const Frames<T>& frames, const PerspectiveDraw& draw, Scratch& scratch) {
  warp_perspective(frames, scratch, draw.matrix, draw.nearest, draw.fill);
}

}  // namespace

TransformSpec perspective_spec() {
  return make_transform(Definition<PerspectiveParams, PerspectiveDraw>{
      .name = "Perspective",
      .doc = "Four points lie inwards of the corners by |N(0, s)| of the sides, s uniform in "
             "`scale`; what they enclose, w by h at its longest sides, is drawn w^2/w by h^2/h "
             "large and cut to the size of the image.",
      .parity = Parity::smooth,
      .params = {range("scale", &PerspectiveParams::scale, 0, 0.4, "share of the sides"),
                 choice("interpolation", &PerspectiveParams::interpolation,
                        {"nearest", "bilinear"}),
                 field("fill", &PerspectiveParams::fill, 0, 255,
                       "level of u8; f32 gets fill / 255")},
      .draw = {field("matrix", &PerspectiveDraw::matrix, -1e9, 1e9, "output to input, 3 x 3"),
               field("nearest", &PerspectiveDraw::nearest),
               field("fill", &PerspectiveDraw::fill, 0, 255)},
      .sample = sample,
      .fast = {perspective_fast, perspective_fast},
      .reference = {perspective_reference, perspective_reference},
      .u8 = kBilinearU8,
      .f32 = kBilinearF32});
}

}  // namespace sluice::aug
