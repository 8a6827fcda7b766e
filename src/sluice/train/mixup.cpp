// sluice/train/mixup.cpp - the draw is data; mixing swaps shares between partners in place.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/mixup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sluice::train {
namespace {

constexpr std::uint32_t kDraws = 2;  // RngKey::repeat: DropPath has 1

Status check_range(const char* field, double value, double low, double high, bool below_high) {
  if (value >= low && (below_high ? value < high : value <= high)) return ok;
  return Error{Errc::usage, fmt::format("mixup: {} {}; at least {} and {} {} is accepted", field,
                                        value, low, below_high ? "below" : "at most", high)};
}

/// In (0, 1), so that its logarithm is finite.
double open_uniform(Rng& rng) {
  double u = 0;
  while (u == 0)
    u = rng.uniform();
  return u;
}

/// The logarithm of a gamma draw with shape `a` and scale 1.
double log_gamma_draw(Rng& rng, double a) {
  if (a < 1) {
    const double boost = std::log(open_uniform(rng)) / a;
    return log_gamma_draw(rng, a + 1) + boost;
  }
  const double d = a - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = rng.normal();
    const double t = 1 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t;
    if (std::log(open_uniform(rng)) < 0.5 * x * x + d * (1 - v + std::log(v)))
      return std::log(d) + std::log(v);
  }
}

/// [low, high) along one side: `cut` / 2 to either side of a uniform centre, clipped.
void draw_side(Rng& rng, int size, double ratio, int& low, int& high) {
  const int half = static_cast<int>(size * ratio) / 2;
  const int centre = static_cast<int>(rng.below(static_cast<std::uint64_t>(size)));
  low = std::clamp(centre - half, 0, size);
  high = std::clamp(centre + half, 0, size);
}

void blend(float* one, float* other, std::size_t count, float keep, float take) {
  for (std::size_t i = 0; i < count; ++i) {
    const float a = one[i];
    const float b = other[i];
    one[i] = keep * a + take * b;
    other[i] = keep * b + take * a;
  }
}

Status check_even(std::size_t batch) {
  if (batch % 2 == 0) return ok;
  return Error{
      Errc::usage,
      fmt::format("mixup: a batch of {}; an even one is accepted (partners are paired)", batch)};
}

}  // namespace

Status check_mixup(const MixupConfig& config) {
  SLUICE_CHECK(check_range("mixup_alpha", config.mixup_alpha, 0, 1000, false));
  SLUICE_CHECK(check_range("cutmix_alpha", config.cutmix_alpha, 0, 1000, false));
  SLUICE_CHECK(check_range("probability", config.probability, 0, 1, false));
  SLUICE_CHECK(check_range("cutmix_share", config.cutmix_share, 0, 1, false));
  return check_range("label_smoothing", static_cast<double>(config.label_smoothing), 0, 1, true);
}

double draw_beta(Rng& rng, double a, double b) {
  const double first = log_gamma_draw(rng, a);
  const double second = log_gamma_draw(rng, b);
  return 1 / (1 + std::exp(second - first));
}

MixupDraw draw_mixup(const MixupConfig& config, std::uint64_t seed, std::uint64_t step,
                     std::uint64_t micro, int height, int width) {
  Rng rng({.seed = seed, .epoch = step, .index = micro, .repeat = kDraws});
  MixupDraw draw;
  const bool mixed = rng.uniform() < config.probability;
  const bool cut = rng.uniform() < config.cutmix_share;
  if (!mixed || (config.mixup_alpha == 0 && config.cutmix_alpha == 0)) return draw;
  const bool cutmix = config.cutmix_alpha > 0 && (cut || config.mixup_alpha == 0);
  const double alpha = cutmix ? config.cutmix_alpha : config.mixup_alpha;
  draw.kind = cutmix ? MixupDraw::Kind::cutmix : MixupDraw::Kind::mixup;
  draw.lambda = draw_beta(rng, alpha, alpha);
  if (!cutmix) return draw;
  const double ratio = std::sqrt(1 - draw.lambda);
  draw_side(rng, height, ratio, draw.top, draw.bottom);
  draw_side(rng, width, ratio, draw.left, draw.right);
  const double area =
      static_cast<double>(draw.bottom - draw.top) * static_cast<double>(draw.right - draw.left);
  draw.lambda = 1 - area / (static_cast<double>(height) * static_cast<double>(width));
  return draw;
}

Status check_mix(const MixupDraw& draw, int batch, int height, int width) {
  SLUICE_CHECK(check_even(static_cast<std::size_t>(batch)));
  if (draw.kind == MixupDraw::Kind::none) return ok;
  const bool inside = draw.top >= 0 && draw.top <= draw.bottom && draw.bottom <= height &&
                      draw.left >= 0 && draw.left <= draw.right && draw.right <= width;
  if (inside) return ok;
  return Error{Errc::usage, fmt::format("mixup: the box {}..{}, {}..{} is not in {} x {}", draw.top,
                                        draw.bottom, draw.left, draw.right, height, width)};
}

Status mix_images(const MixupImages& images, const MixupDraw& draw) {
  const auto batch = static_cast<std::size_t>(images.batch);
  const auto channels = static_cast<std::size_t>(images.channels);
  const auto height = static_cast<std::size_t>(images.height);
  const auto width = static_cast<std::size_t>(images.width);
  const std::size_t one = channels * height * width;
  SLUICE_CHECK(check_mix(draw, images.batch, images.height, images.width));
  if (images.values.size() != batch * one) {
    return Error{Errc::usage,
                 fmt::format("mixup: {} values for {} x {} x {} x {}; {} are accepted",
                             images.values.size(), batch, channels, height, width, batch * one)};
  }
  if (draw.kind == MixupDraw::Kind::none) return ok;
  const auto top = static_cast<std::size_t>(draw.top);
  const auto bottom = static_cast<std::size_t>(draw.bottom);
  const std::size_t pixel = images.channels_last ? channels : 1;
  const std::size_t planes = images.channels_last ? 1 : channels;
  const std::size_t from = static_cast<std::size_t>(draw.left) * pixel;
  const std::size_t to = static_cast<std::size_t>(draw.right) * pixel;
  const std::size_t row = width * pixel;
  for (std::size_t i = 0; i < batch / 2; ++i) {
    float* a = images.values.data() + i * one;
    float* b = images.values.data() + (batch - 1 - i) * one;
    if (draw.kind == MixupDraw::Kind::mixup) {
      blend(a, b, one, static_cast<float>(draw.lambda), static_cast<float>(1 - draw.lambda));
      continue;
    }
    for (std::size_t plane = 0; plane < planes; ++plane) {
      for (std::size_t y = top; y < bottom; ++y) {
        const std::size_t start = (plane * height + y) * row;
        std::swap_ranges(a + start + from, a + start + to, b + start + from);
      }
    }
  }
  return ok;
}

Status mix_targets(std::span<float> targets, std::span<const std::int32_t> labels, int classes,
                   double lambda, float label_smoothing) {
  SLUICE_CHECK(check_even(labels.size()));
  const auto columns = static_cast<std::size_t>(std::max(classes, 0));
  if (targets.size() != labels.size() * columns) {
    return Error{Errc::usage, fmt::format("mixup: {} targets for {} labels of {} classes",
                                          targets.size(), labels.size(), classes)};
  }
  for (const std::int32_t label : labels) {
    if (label < 0 || label >= classes) {
      return Error{Errc::invalid_input,
                   fmt::format("label {}; 0 to {} are accepted", label, classes - 1)};
    }
  }
  const double smoothing = static_cast<double>(label_smoothing);
  const double off = smoothing / classes;
  const double extra = 1 - smoothing;  // of the right class, above the others
  std::fill(targets.begin(), targets.end(), static_cast<float>(off));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int32_t own = labels[i];
    const std::int32_t partner = labels[labels.size() - 1 - i];
    float* row = targets.data() + i * columns;
    if (own == partner) {
      row[own] = static_cast<float>(off + extra);
      continue;
    }
    row[own] = static_cast<float>(off + lambda * extra);
    row[partner] = static_cast<float>(off + (1 - lambda) * extra);
  }
  return ok;
}

}  // namespace sluice::train
