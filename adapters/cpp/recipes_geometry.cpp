// adapters/cpp/recipes_geometry.cpp - what moves pixels: resize, crop, turn, warp, erase.
// SPDX-License-Identifier: Apache-2.0
#include "adapters/cpp/opencv_recipes.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

namespace sluice::opencv {
namespace {

constexpr int kMaxSide = 16384;
constexpr int kTries = 10;  // for a region that fits

double radians(double degrees) {
  return degrees * CV_PI / 180;
}

Recipe fixed(std::function<void(const cv::Mat&, cv::Mat&)> apply) {
  return {{}, std::move(apply)};
}

Recipe resize(const Params& params) {
  const int side = params.integer("target_size", 1, kMaxSide);
  return fixed([side](const cv::Mat& in, cv::Mat& out) {
    cv::resize(in, out, {side, side}, 0, 0, cv::INTER_LINEAR);
  });
}

/// The longer (or the shorter) side becomes max_size.
Recipe max_size(const Params& params, bool longest) {
  const int wanted = params.integer("max_size", 1, kMaxSide);
  return fixed([wanted, longest](const cv::Mat& in, cv::Mat& out) {
    const int side = longest ? std::max(in.cols, in.rows) : std::min(in.cols, in.rows);
    const double factor = static_cast<double>(wanted) / side;
    const cv::Size size(std::max(1, cvRound(in.cols * factor)),
                        std::max(1, cvRound(in.rows * factor)));
    cv::resize(in, out, size, 0, 0, cv::INTER_LINEAR);
  });
}

Recipe random_crop(const Params& params) {
  struct State {
    int top, bottom, left, right;  // border of an input that is too small
    cv::Rect window;
    cv::Mat padded;
  };
  const int width = params.integer("width", 1, kMaxSide);
  const int height = params.integer("height", 1, kMaxSide);
  auto state = std::make_shared<State>();
  return {[=](cv::Size size, Rng& rng) {
            const int rows = std::max(0, height - size.height);
            const int columns = std::max(0, width - size.width);
            state->top = rows / 2;
            state->bottom = rows - state->top;
            state->left = columns / 2;
            state->right = columns - state->left;
            const int y = draw_integer(rng, 0, size.height + rows - height);
            const int x = draw_integer(rng, 0, size.width + columns - width);
            state->window = {x, y, width, height};
          },
          [=](const cv::Mat& in, cv::Mat& out) {
            if (in.cols >= width && in.rows >= height) {
              in(state->window).copyTo(out);
              return;
            }
            cv::copyMakeBorder(in, state->padded, state->top, state->bottom, state->left,
                               state->right, cv::BORDER_CONSTANT, cv::Scalar::all(0));
            state->padded(state->window).copyTo(out);
          }};
}

struct Shape {
  Params::Range scale;  // of the area
  Params::Range log_ratio;
};

Shape read_shape(const Params& params) {
  const Params::Range ratio = params.range("ratio");
  if (ratio.low <= 0) throw std::invalid_argument("spec.params: ratio must be above 0");
  return {params.range("scale"), {std::log(ratio.low), std::log(ratio.high)}};
}

/// Area and ratio drawn until the part fits; else the largest in the middle.
cv::Rect draw_region(cv::Size size, const Shape& shape, Rng& rng) {
  for (int i = 0; i < kTries; ++i) {
    const double area = static_cast<double>(size.area()) * shape.scale.draw(rng);
    const double ratio = std::exp(shape.log_ratio.draw(rng));
    const int width = cvRound(std::sqrt(area * ratio));
    const int height = cvRound(std::sqrt(area / ratio));
    if (width > 0 && width <= size.width && height > 0 && height <= size.height) {
      const int y = draw_integer(rng, 0, size.height - height);
      return {draw_integer(rng, 0, size.width - width), y, width, height};
    }
  }
  const double ratio = std::clamp(static_cast<double>(size.width) / size.height,
                                  std::exp(shape.log_ratio.low), std::exp(shape.log_ratio.high));
  const int width = std::clamp(cvRound(size.height * ratio), 1, size.width);
  const int height = std::clamp(cvRound(size.width / ratio), 1, size.height);
  return {(size.width - width) / 2, (size.height - height) / 2, width, height};
}

Recipe random_resized_crop(const Params& params) {
  const Params::Pair size = params.pair("size", 1, kMaxSide);  // height, width
  const cv::Size target(size.second, size.first);
  const Shape shape = read_shape(params);
  auto region = std::make_shared<cv::Rect>();
  return {[=](cv::Size input, Rng& rng) { *region = draw_region(input, shape, rng); },
          [=](const cv::Mat& in, cv::Mat& out) {
            cv::resize(in(*region), out, target, 0, 0, cv::INTER_LINEAR);
          }};
}

Recipe erasing(const Params& params) {
  const Shape shape = read_shape(params);
  const double fill = params.number("fill");
  auto hole = std::make_shared<cv::Rect>();
  return {[=](cv::Size size, Rng& rng) {
            *hole = {};
            for (int i = 0; i < kTries && hole->empty(); ++i) {
              const double area = static_cast<double>(size.area()) * shape.scale.draw(rng);
              const double ratio = std::exp(shape.log_ratio.draw(rng));
              const int height = cvRound(std::sqrt(area * ratio));
              const int width = cvRound(std::sqrt(area / ratio));
              if (height <= 0 || height >= size.height || width <= 0 || width >= size.width)
                continue;
              const int y = draw_integer(rng, 0, size.height - height);
              *hole = {draw_integer(rng, 0, size.width - width), y, width, height};
            }
          },
          [=](const cv::Mat& in, cv::Mat& out) {
            in.copyTo(out);
            if (!hole->empty()) cv::rectangle(out, *hole, cv::Scalar::all(fill), cv::FILLED);
          }};
}

Recipe pad(const Params& params) {
  const int border = params.integer("padding", 0, kMaxSide);
  const cv::Scalar fill = cv::Scalar::all(params.number("fill"));
  return fixed([=](const cv::Mat& in, cv::Mat& out) {
    cv::copyMakeBorder(in, out, border, border, border, border, cv::BORDER_CONSTANT, fill);
  });
}

Recipe flip(int code) {
  return fixed([code](const cv::Mat& in, cv::Mat& out) { cv::flip(in, out, code); });
}

Recipe rotate90(const Params& params) {
  const Params::Pair times = params.pair("times", 0, 3);
  auto turns = std::make_shared<int>(0);
  return {[=](cv::Size, Rng& rng) { *turns = draw_integer(rng, times.first, times.second); },
          [=](const cv::Mat& in, cv::Mat& out) {
            constexpr std::array kCodes = {cv::ROTATE_90_COUNTERCLOCKWISE, cv::ROTATE_180,
                                           cv::ROTATE_90_CLOCKWISE};
            if (*turns == 0)
              in.copyTo(out);
            else
              cv::rotate(in, out, kCodes[static_cast<std::size_t>(*turns - 1)]);
          }};
}

cv::Point2d centre(cv::Size size) {
  return {(size.width - 1) / 2.0, (size.height - 1) / 2.0};
}

/// A linear map about the centre of the image, then a shift, as warpAffine wants it.
cv::Matx23d about_centre(const cv::Matx22d& linear, cv::Size size, cv::Point2d shift = {}) {
  const cv::Point2d c = centre(size);
  const double x = c.x + shift.x - (linear(0, 0) * c.x + linear(0, 1) * c.y);
  const double y = c.y + shift.y - (linear(1, 0) * c.x + linear(1, 1) * c.y);
  return {linear(0, 0), linear(0, 1), x, linear(1, 0), linear(1, 1), y};
}

/// warpAffine with the matrix that `draw` makes for each item.
Recipe warp(std::function<cv::Matx23d(cv::Size, Rng&)> draw, int interpolation, double fill) {
  auto matrix = std::make_shared<cv::Matx23d>();
  return {[=](cv::Size size, Rng& rng) { *matrix = draw(size, rng); },
          [=](const cv::Mat& in, cv::Mat& out) {
            cv::warpAffine(in, out, *matrix, in.size(), interpolation, cv::BORDER_CONSTANT,
                           cv::Scalar::all(fill));
          }};
}

Recipe rotate(const Params& params) {
  const Params::Range angles = params.range("angle_range");
  return warp(
      [angles](cv::Size size, Rng& rng) -> cv::Matx23d {
        return cv::getRotationMatrix2D(centre(size), angles.draw(rng), 1);
      },
      cv::INTER_NEAREST, params.number("fill"));
}

Recipe affine(const Params& params) {
  const double angle = params.number("angle");
  const double scale = params.number("scale");
  const Params::Pair shift = params.pair("shift", -kMaxSide, kMaxSide);
  const Params::Pair shear = params.pair("shear", -89, 89);
  const cv::Matx22d slant(1, std::tan(radians(shear.first)), std::tan(radians(shear.second)), 1);
  return warp(
      [=](cv::Size size, Rng& rng) {
        const double turn = radians(rng.uniform(-angle, angle));
        const cv::Matx22d turned(std::cos(turn), std::sin(turn), -std::sin(turn), std::cos(turn));
        return about_centre(scale * turned * slant, size,
                            {static_cast<double>(shift.first), static_cast<double>(shift.second)});
      },
      cv::INTER_LINEAR, params.number("fill"));
}

Recipe shear(const Params& params) {
  const cv::Matx22d linear(1, std::tan(radians(params.number("shear"))), 0, 1);
  return warp([=](cv::Size size, Rng&) { return about_centre(linear, size); }, cv::INTER_LINEAR, 0);
}

/// Corners move inwards by up to a drawn share of the sides.
cv::Mat draw_perspective(cv::Size size, double strength, Rng& rng) {
  const auto right = static_cast<float>(size.width - 1);
  const auto bottom = static_cast<float>(size.height - 1);
  const std::array<cv::Point2f, 4> corners = {{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}};
  constexpr std::array<std::array<int, 2>, 4> kInwards = {{{1, 1}, {-1, 1}, {-1, -1}, {1, -1}}};
  std::array<cv::Point2f, 4> moved = corners;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    moved[i].x += static_cast<float>(kInwards[i][0] * rng.uniform(0, strength) * size.width);
    moved[i].y += static_cast<float>(kInwards[i][1] * rng.uniform(0, strength) * size.height);
  }
  return cv::getPerspectiveTransform(moved.data(), corners.data());
}

Recipe perspective(const Params& params) {
  const Params::Range scale = params.range("scale");
  const cv::Scalar fill = cv::Scalar::all(params.number("fill"));
  auto matrix = std::make_shared<cv::Mat>();
  return {[=](cv::Size size, Rng& rng) { *matrix = draw_perspective(size, scale.draw(rng), rng); },
          [=](const cv::Mat& in, cv::Mat& out) {
            cv::warpPerspective(in, out, *matrix, in.size(), cv::INTER_LINEAR, cv::BORDER_CONSTANT,
                                fill);
          }};
}

}  // namespace

void add_geometry(RecipeTable& table) {
  table["Resize"] = resize;
  table["LongestMaxSize"] = [](const Params& params) { return max_size(params, true); };
  table["SmallestMaxSize"] = [](const Params& params) { return max_size(params, false); };
  table["RandomCrop224"] = random_crop;
  table["RandomResizedCrop"] = random_resized_crop;
  table["Erasing"] = erasing;
  table["Pad"] = pad;
  table["HorizontalFlip"] = [](const Params&) { return flip(1); };
  table["VerticalFlip"] = [](const Params&) { return flip(0); };
  table["Transpose"] = [](const Params&) {
    return fixed([](const cv::Mat& in, cv::Mat& out) { cv::transpose(in, out); });
  };
  table["RandomRotate90"] = rotate90;
  table["Rotate"] = rotate;
  table["Affine"] = affine;
  table["Shear"] = shear;
  table["Perspective"] = perspective;
}

}  // namespace sluice::opencv
