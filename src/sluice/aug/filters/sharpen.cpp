// sluice/aug/filters/sharpen.cpp - x, plus a share of its difference to the neighbours: Sharpen and
// the Enhance transforms.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/border.h"
#include "sluice/aug/kernels/neighbours.h"
#include "sluice/aug/kernels/separable.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/staged.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace sluice::aug {
namespace {

/// x + weight (n x - sum of the n neighbours) - loss x, clamped; borders mirrored (reflect_101).
/// For u8 the factors are 32768ths and both terms are rounded half up to 16ths of a level, their
/// difference half up to a level.
struct Laplacian {
  int neighbours = 8;  // or 4, those that share a side
  double weight = 0;   // 0 to 1
  double loss = 0;     // -1 to 1
};

std::int16_t in_32768ths(double factor) {
  return static_cast<std::int16_t>(std::clamp<long>(std::lround(factor * 32768), -32767, 32767));
}

/// n x - sum of the n neighbours.
template <class T>
double excess_reference(const ImageView<T>& src, int x, int y, int c, int neighbours) {
  double sum = 0;
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i)
      if (neighbours == 8 || i == 0 || j == 0)
        sum += static_cast<double>(src.at(x, y, c)) -
               static_cast<double>(
                   src.at(reflect_101(x + i, src.width()), reflect_101(y + j, src.height()), c));
  return sum;
}

template <class T>
void laplacian_reference(ImageSpan<T> dst, ImageView<T> src, const Laplacian& rule) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const auto value = static_cast<double>(src.at(x, y, c));
        const double excess = excess_reference(src, x, y, c, rule.neighbours);
        if constexpr (std::same_as<T, float>) {
          const double sharp = value + rule.weight * excess - rule.loss * value;
          dst.at(x, y, c) = static_cast<float>(std::clamp(sharp, 0.0, 1.0));
        } else {
          const double more = std::floor(excess * 16 * in_32768ths(rule.weight) / 32768 + 0.5);
          const double less = std::floor(value * 16 * in_32768ths(rule.loss) / 32768 + 0.5);
          const double sharp = value + std::floor((more - less + 8) / 16);
          dst.at(x, y, c) = static_cast<T>(std::clamp(sharp, 0.0, 255.0));
        }
      }
}

template <class T>
void laplacian_fast(const Frames<T>& frames, const Laplacian& rule, Scratch& scratch) {
  kernels::SharpenRule sharpen;
  sharpen.neighbours =
      rule.neighbours == 8 ? kernels::Neighbours::eight : kernels::Neighbours::four;
  sharpen.weight = in_32768ths(rule.weight);
  sharpen.loss = in_32768ths(rule.loss);
  sharpen.weight_f32 = static_cast<float>(rule.weight);
  sharpen.loss_f32 = static_cast<float>(rule.loss);
  const ImageView<T>& first = frames.src[0];
  const auto line = scratch.take<kernels::LineSample<T>>(
      kernels::line_samples(first.width(), first.channels(), 1));
  for_each_staged(frames, scratch, [&](const ImageSpan<T>& dst, const ImageView<T>& src) {
    kernels::sharpen(dst, src, sharpen, line.data());
  });
}

struct SharpenParams {
  std::array<double, 2> alpha = {0.2, 0.5};
  std::array<double, 2> lightness = {0.5, 1.0};
};
struct SharpenDraw {
  double alpha = 0.5;
  double lightness = 1;
};

SharpenDraw sample(const SharpenParams& params, Rng& rng, Shape) {
  const double alpha = rng.uniform(params.alpha[0], params.alpha[1]);
  return {alpha, rng.uniform(params.lightness[0], params.lightness[1])};
}

/// (1 - a) x + a (8 x - neighbours + lightness x).
Laplacian rule_of(const SharpenDraw& draw) {
  return {8, draw.alpha, draw.alpha * (1 - draw.lightness)};
}

/// EnhanceDetail: the kernel of alpha 1 is -1/6 beside 10/6.
struct Detail {
  static constexpr const char* kMode = "detail";
  static constexpr int kNeighbours = 4;
  static constexpr double kParts = 6;
};
/// EnhanceEdge: the kernel of alpha 1 is -1/2 around 5.
struct Edge {
  static constexpr const char* kMode = "edge";
  static constexpr int kNeighbours = 8;
  static constexpr double kParts = 2;
};
template <class Kind>
struct EnhanceParams {
  std::string mode = Kind::kMode;
  std::array<double, 2> alpha = {0.5, 1.0};
};
template <class Kind>
struct EnhanceDraw {
  double alpha = 1;
};

template <class Kind>
EnhanceDraw<Kind> sample_alpha(const EnhanceParams<Kind>& params, Rng& rng, Shape) {
  return {rng.uniform(params.alpha[0], params.alpha[1])};
}

template <class Kind>
Laplacian rule_of(const EnhanceDraw<Kind>& draw) {
  return {Kind::kNeighbours, draw.alpha / Kind::kParts, 0};
}

template <class D, class T>
void sharpened_reference(ImageSpan<T> dst, ImageView<T> src, const D& draw) {
  laplacian_reference(dst, src, rule_of(draw));
}

template <class D, class T>
void sharpened_fast(const Frames<T>& frames, const D& draw, Scratch& scratch) {
  laplacian_fast(frames, rule_of(draw), scratch);
}

template <class Kind>
TransformSpec enhance(std::string name, std::string doc) {
  using P = EnhanceParams<Kind>;
  using D = EnhanceDraw<Kind>;
  return make_transform(Definition<P, D>{
      .name = std::move(name),
      .doc = std::move(doc),
      .parity = Parity::smooth,
      .params = {choice("mode", &P::mode, {Kind::kMode}),
                 range("alpha", &P::alpha, 0, 1, "share of the enhanced image")},
      .draw = {field("alpha", &D::alpha, 0, 1)},
      .sample = sample_alpha,
      .fast = {sharpened_fast, sharpened_fast},
      .reference = {sharpened_reference, sharpened_reference},
      .f32 = {.max = 4e-6, .reason = "the neighbours are summed in single precision"}});
}

}  // namespace

TransformSpec sharpen_spec() {
  return make_transform(Definition<SharpenParams, SharpenDraw>{
      .name = "Sharpen",
      .doc = "(1 - alpha) x + alpha (L + lightness x), L being 8 x less the eight neighbours; "
             "borders mirrored, clamped. u8 in fixed point, terms in 16ths of a level.",
      .parity = Parity::smooth,
      .params = {range("alpha", &SharpenParams::alpha, 0, 1, "share of the sharpened image"),
                 range("lightness", &SharpenParams::lightness, 0, 2)},
      .draw = {field("alpha", &SharpenDraw::alpha, 0, 1),
               field("lightness", &SharpenDraw::lightness, 0, 2)},
      .sample = sample,
      .fast = {sharpened_fast, sharpened_fast},
      .reference = {sharpened_reference, sharpened_reference},
      .f32 = {.max = 4e-6, .reason = "nine samples summed in single precision"}});
}

TransformSpec enhance_detail_spec() {
  return enhance<Detail>(
      "EnhanceDetail",
      "(1 - alpha) x + alpha E(x), E has 10/6 in the centre and -1/6 on the four sides; borders "
      "mirrored, clamped. u8 in fixed point, the term in 16ths of a level.");
}

TransformSpec enhance_edge_spec() {
  return enhance<Edge>(
      "EnhanceEdge",
      "(1 - alpha) x + alpha E(x), E has 5 in the centre and -1/2 on the eight neighbours; "
      "borders mirrored, clamped. u8 in fixed point, the term in 16ths of a level.");
}

}  // namespace sluice::aug
