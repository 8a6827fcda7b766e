// sluice/aug/warps/elastic.cpp - moves every pixel by a smooth random displacement.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/smooth.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/warps/smooth_noise.h"
#include "sluice/aug/warps/warp.h"

#include <numbers>

namespace sluice::aug {
namespace {

struct ElasticParams {
  double alpha = 50;
  double sigma = 5;
  std::string interpolation = "bilinear";
  bool approximate = false;
  bool same_dxdy = true;
};
struct ElasticDraw {
  std::uint64_t key_x = 0;
  std::uint64_t key_y = 0;
  double sigma = 5;
  double scale = 0;  // pixels that unit noise moves by, before it is blurred
  bool nearest = false;
};

/// The mean of the largest of `count` absolute standard normal values.
double largest_normal(double count) {
  const double n = std::log(2 * count), a = std::sqrt(2 * n);
  return a - (std::log(n) + std::log(4 * std::numbers::pi)) / (2 * a) + std::numbers::egamma / a;
}

ElasticDraw sample(const ElasticParams& params, Rng& rng, Shape shape) {
  ElasticDraw draw;
  draw.key_x = rng.next_u64();
  draw.key_y = params.same_dxdy ? draw.key_x : rng.next_u64();
  draw.sigma = params.sigma;
  draw.scale = params.alpha / largest_normal(static_cast<double>(shape.width) * shape.height);
  draw.nearest = params.interpolation == "nearest";
  return draw;
}

Status check(const ElasticParams& params) {
  if (params.approximate) return Error{Errc::invalid_config, "approximate true: false is accepted"};
  return ok;
}

SmoothNoise field_of(const ElasticDraw& draw, std::uint64_t key, int width, int height) {
  return {.key = key, .sigma = draw.sigma, .scale = draw.scale, .width = width, .height = height};
}

template <class T>
void elastic_reference(ImageSpan<T> dst, ImageView<T> src, const ElasticDraw& draw) {
  const auto dx = smooth_noise_reference(field_of(draw, draw.key_x, src.width(), src.height()));
  const auto dy =
      draw.key_y == draw.key_x
          ? dx
          : smooth_noise_reference(field_of(draw, draw.key_y, src.width(), src.height()));
  warp_reference(dst, src, draw.nearest, 0, [&](double x, double y) {
    const auto at = static_cast<std::size_t>(y * src.width() + x);
    return Point{x + dx[at], y + dy[at]};
  });
}

template <class T>
void elastic_fast(const Frames<T>& frames, const ElasticDraw& draw, Scratch& scratch) {
  const int width = frames.src[0].width(), height = frames.src[0].height();
  SmoothNoiseRows rows_x(field_of(draw, draw.key_x, width, height), scratch);
  if (draw.key_y == draw.key_x) {
    warp_rows(frames, scratch, draw.nearest, 0, [&](const kernels::RemapRow& row, int y) {
      const float* d = rows_x.next();
      kernels::displaced_row(row, y, d, d);
    });
    return;
  }
  SmoothNoiseRows rows_y(field_of(draw, draw.key_y, width, height), scratch);
  warp_rows(frames, scratch, draw.nearest, 0, [&](const kernels::RemapRow& row, int y) {
    const float* dx = rows_x.next();
    kernels::displaced_row(row, y, dx, rows_y.next());
  });
}

}  // namespace

TransformSpec elastic_spec() {
  return make_transform(Definition<ElasticParams, ElasticDraw>{
      .name = "Elastic",
      .doc = "Every pixel shows what lies a displacement away: normal noise as a share of its "
             "largest value, blurred by a Gaussian of `sigma`, times `alpha`; the same along x and "
             "y when `same_dxdy`; 0 outside.",
      .parity = Parity::smooth,
      .params = {field("alpha", &ElasticParams::alpha, 0, 1e4, "pixels"),
                 field("sigma", &ElasticParams::sigma, SmoothNoise::kLeastSigma,
                       SmoothNoise::kMostSigma, "pixels"),
                 choice("interpolation", &ElasticParams::interpolation, {"nearest", "bilinear"}),
                 field("approximate", &ElasticParams::approximate, "only false"),
                 field("same_dxdy", &ElasticParams::same_dxdy)},
      .draw = {field("key_x", &ElasticDraw::key_x), field("key_y", &ElasticDraw::key_y),
               field("sigma", &ElasticDraw::sigma, SmoothNoise::kLeastSigma,
                     SmoothNoise::kMostSigma),
               field("scale", &ElasticDraw::scale, 0, 1e4),
               field("nearest", &ElasticDraw::nearest)},
      .sample = sample,
      .check = check,
      .fast = {elastic_fast, elastic_fast},
      .reference = {elastic_reference, elastic_reference},
      .u8 = kBilinearU8,
      .f32 = {2e-3, 0,
              "displacements between every second pixel are predicted from their neighbours: "
              "within 1e-3 pixel, times a step of 1"}});
}

}  // namespace sluice::aug
