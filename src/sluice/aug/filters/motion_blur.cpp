// sluice/aug/filters/motion_blur.cpp - the mean along a short line.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/border.h"
#include "sluice/aug/kernels/box.h"
#include "sluice/aug/kernels/separable.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/staged.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice::aug {
namespace {

constexpr int kMaxSize = kernels::kMaxPoints;

struct MotionBlurParams {
  int kernel_size = 5;
  std::array<double, 2> angle_range = {0, 360};     // degrees, downwards from the x axis
  std::array<double, 2> direction_range = {-1, 1};  // -1: backwards only, 1: forwards only
};
struct MotionBlurDraw {
  Few<int, kMaxSize> dx{};  // the points of the mean, relative to the pixel
  Few<int, kMaxSize> dy{};
};

void add_once(MotionBlurDraw& draw, int dx, int dy) {
  for (std::size_t k = 0; k < draw.dx.size(); ++k)
    if (draw.dx[k] == dx && draw.dy[k] == dy) return;
  draw.dx.push(dx);
  draw.dy.push(dy);
}

/// `kernel_size` places on the line, rounded to pixels and moved by at most one; what leaves the
/// square of that side is dropped.
MotionBlurDraw sample(const MotionBlurParams& params, Rng& rng, Shape) {
  const double angle =
      rng.uniform(params.angle_range[0], params.angle_range[1]) * std::numbers::pi / 180;
  const double direction = rng.uniform(params.direction_range[0], params.direction_range[1]);
  const auto shift = [&] { return static_cast<int>(std::nearbyint(rng.uniform(-1, 1))); };
  const int right = shift(), down = shift();
  const int half = params.kernel_size / 2, steps = params.kernel_size - 1;
  const double from = -half * std::min(1.0, 1 - direction);
  const double to = half * std::min(1.0, 1 + direction);
  MotionBlurDraw draw;
  for (int k = 0; k <= steps; ++k) {
    const double at = from + (to - from) * k / steps;
    const int dx = static_cast<int>(std::nearbyint(at * std::cos(angle))) + right;
    const int dy = static_cast<int>(std::nearbyint(at * std::sin(angle))) + down;
    if (std::abs(dx) <= half && std::abs(dy) <= half) add_once(draw, dx, dy);
  }
  if (draw.dx.size() == 0) add_once(draw, 0, 0);
  return draw;
}

Status check(const MotionBlurParams& params) {
  if (params.kernel_size % 2 == 1) return ok;
  return Error{Errc::invalid_config,
               fmt::format("kernel_size {}: accepted are 3, 5, 7 and 9", params.kernel_size)};
}

Status fits(const MotionBlurDraw& draw, Shape) {
  if (draw.dx.size() == draw.dy.size() && draw.dx.size() > 0) return ok;
  return Error{Errc::invalid_config, fmt::format("{} dx and {} dy: accepted are as many, 1 to {}",
                                                 draw.dx.size(), draw.dy.size(), kMaxSize)};
}

template <class T>
void motion_blur_reference(ImageSpan<T> dst, ImageView<T> src, const MotionBlurDraw& draw) {
  const auto count = static_cast<double>(draw.dx.size());
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        double sum = 0;
        for (std::size_t k = 0; k < draw.dx.size(); ++k)
          sum += static_cast<double>(src.at(reflect_101(x + draw.dx[k], src.width()),
                                            reflect_101(y + draw.dy[k], src.height()), c));
        if constexpr (std::same_as<T, float>)
          dst.at(x, y, c) = static_cast<float>(sum / count);
        else
          dst.at(x, y, c) = static_cast<T>(std::floor(sum / count + 0.5));
      }
}

template <class T>
void motion_blur_fast(const Frames<T>& frames, const MotionBlurDraw& draw, Scratch& scratch) {
  std::array<kernels::Point, kernels::kMaxPoints> points{};
  int radius = 1;
  for (std::size_t k = 0; k < draw.dx.size(); ++k) {
    points[k] = {draw.dx[k], draw.dy[k]};
    radius = std::max({radius, std::abs(draw.dx[k]), std::abs(draw.dy[k])});
  }
  const ImageView<T>& first = frames.src[0];
  const auto lines =
      scratch.take<T>(static_cast<std::size_t>(2 * radius + 1) *
                      kernels::line_samples(first.width(), first.channels(), radius));
  for_each_staged(frames, scratch, [&](const ImageSpan<T>& dst, const ImageView<T>& src) {
    kernels::mean_of_points(dst, src, {points.data(), draw.dx.size()}, radius, lines.data());
  });
}

}  // namespace

TransformSpec motion_blur_spec() {
  return make_transform(Definition<MotionBlurParams, MotionBlurDraw>{
      .name = "MotionBlur",
      .doc = "The mean over the pixels of a line of `kernel_size` at a drawn angle, reaching "
             "backwards and forwards by `direction`, moved by up to a pixel; borders mirrored. "
             "Rounded half up.",
      .parity = Parity::smooth,
      .params = {field("kernel_size", &MotionBlurParams::kernel_size, 3, kMaxSize, "odd"),
                 range("angle_range", &MotionBlurParams::angle_range, -360, 360, "degrees"),
                 range("direction_range", &MotionBlurParams::direction_range, -1, 1)},
      .draw = {field("dx", &MotionBlurDraw::dx, -kMaxSize, kMaxSize, "pixels to the right"),
               field("dy", &MotionBlurDraw::dy, -kMaxSize, kMaxSize, "pixels down")},
      .sample = sample,
      .check = check,
      .fits = fits,
      .fast = {motion_blur_fast, motion_blur_fast},
      .reference = {motion_blur_reference, motion_blur_reference},
      .f32 = {.max = 1e-6, .reason = "up to 9 samples summed in single precision"}});
}

}  // namespace sluice::aug
