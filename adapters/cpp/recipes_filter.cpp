// adapters/cpp/recipes_filter.cpp - what looks at neighbours: blurs, sharpening, unsharp mask.
// SPDX-License-Identifier: Apache-2.0
#include "adapters/cpp/opencv_recipes.h"
#include <memory>
#include <opencv2/imgproc.hpp>
#include <stdexcept>
#include <vector>

namespace sluice::opencv {
namespace {

constexpr int kMaxKernel = 255;

Recipe fixed(std::function<void(const cv::Mat&, cv::Mat&)> apply) {
  return {{}, std::move(apply)};
}

Recipe gaussian_blur(const Params& params) {
  const Params::Pair kernel = params.pair("kernel_size", 1, kMaxKernel);
  const double sigma = params.number("sigma");
  return fixed([=](const cv::Mat& in, cv::Mat& out) {
    cv::GaussianBlur(in, out, {kernel.first, kernel.second}, sigma);
  });
}

Recipe median_blur(const Params& params) {
  const int side = params.integer("blur_limit", 1, kMaxKernel);
  return fixed([side](const cv::Mat& in, cv::Mat& out) { cv::medianBlur(in, out, side); });
}

Recipe box_blur(const Params& params) {
  const int side = params.integer("radius", 1, kMaxKernel);
  return fixed([side](const cv::Mat& in, cv::Mat& out) {
    cv::blur(in, out, {side, side}, {-1, -1}, cv::BORDER_CONSTANT);
  });
}

/// filter2D with the kernel that `draw` makes for each item.
Recipe filter(std::function<void(cv::Mat1f& kernel, Rng& rng)> draw) {
  auto kernel = std::make_shared<cv::Mat1f>();
  return {[=](cv::Size, Rng& rng) { draw(*kernel, rng); },
          [=](const cv::Mat& in, cv::Mat& out) { cv::filter2D(in, out, -1, *kernel); }};
}

/// (1 - weight) of nothing happening, weight of `whole`.
void blend(cv::Mat1f& kernel, const cv::Matx33f& whole, double weight) {
  kernel = cv::Mat1f(weight * cv::Mat(whole));
  kernel(1, 1) += static_cast<float>(1 - weight);
}

Recipe sharpen(const Params& params) {
  const Params::Range alpha = params.range("alpha");
  const Params::Range lightness = params.range("lightness");
  return filter([=](cv::Mat1f& kernel, Rng& rng) {
    cv::Matx33f whole = cv::Matx33f::all(-1);
    whole(1, 1) = static_cast<float>(8 + lightness.draw(rng));
    blend(kernel, whole, alpha.draw(rng));
  });
}

Recipe enhance(const Params& params, const cv::Matx33f& whole) {
  const Params::Range alpha = params.range("alpha");
  return filter([=](cv::Mat1f& kernel, Rng& rng) { blend(kernel, whole, alpha.draw(rng)); });
}

Recipe motion_blur(const Params& params) {
  const int side = params.integer("kernel_size", 1, kMaxKernel);
  const Params::Range angles = params.range("angle_range");
  return filter([=](cv::Mat1f& kernel, Rng& rng) {
    kernel.create(side, side);
    kernel.setTo(0);
    cv::ellipse(kernel, {side / 2, side / 2}, {0, cvRound(side / 2.0)}, 90 - angles.draw(rng), 0,
                360, cv::Scalar(1), cv::FILLED);
    kernel /= cv::sum(kernel)[0];
  });
}

Recipe unsharp_mask(const Params& params) {
  struct State {
    int side = 3;
    double amount = 0;
    cv::Mat blurred, difference, flat;
  };
  const Params::Pair limits = params.pair("blur_limit", 1, kMaxKernel);
  const double sigma = params.number("sigma");
  const double threshold = params.number("threshold");
  const Params::Range alpha = params.range("alpha");
  const int first = limits.first | 1;  // kernels are odd
  const int choices = (limits.second - first) / 2 + 1;
  if (limits.second < first)
    throw std::invalid_argument("spec.params: blur_limit holds no odd number");
  auto state = std::make_shared<State>();
  return {[=](cv::Size, Rng& rng) {
            state->side = first + 2 * draw_integer(rng, 0, choices - 1);
            state->amount = alpha.draw(rng);
          },
          [=](const cv::Mat& in, cv::Mat& out) {
            cv::GaussianBlur(in, state->blurred, {state->side, state->side}, sigma);
            cv::absdiff(in, state->blurred, state->difference);
            cv::compare(state->difference, threshold, state->flat, cv::CMP_LT);
            cv::addWeighted(in, 1 + state->amount, state->blurred, -state->amount, 0, out);
            in.copyTo(out, state->flat);
          }};
}

}  // namespace

void add_filters(RecipeTable& table) {
  table["GaussianBlur"] = gaussian_blur;
  table["MedianBlur"] = median_blur;
  table["Blur"] = box_blur;
  table["MotionBlur"] = motion_blur;
  table["Sharpen"] = sharpen;
  table["EnhanceEdge"] = [](const Params& params) {
    return enhance(params, {-1, -1, -1, -1, 9, -1, -1, -1, -1});
  };
  table["EnhanceDetail"] = [](const Params& params) {
    constexpr float kSixth = 1.0F / 6;
    return enhance(params, {0, -kSixth, 0, -kSixth, 10 * kSixth, -kSixth, 0, -kSixth, 0});
  };
  table["UnsharpMask"] = unsharp_mask;
}

}  // namespace sluice::opencv
