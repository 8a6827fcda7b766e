// sluice/aug/warps/smooth_noise.cpp - normal noise blurred by a Gaussian.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/warps/smooth_noise.h"

#include "sluice/aug/kernels/random.h"
#include "sluice/aug/kernels/smooth.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

namespace sluice::aug {
namespace {

constexpr int kCoarseRing = 8;  // at least six

int radius_of(double sigma) {
  return static_cast<int>(4 * sigma + 0.5);
}

/// Values of a row of one parity: a row is its even columns, then its odd ones.
int half_of(int width) {
  return (width / 2 + 1 + 3) / 4 * 4;
}

double weight(double sigma, double d) {
  return std::exp(-d * d / (2 * sigma * sigma));
}

/// The weights of neighbours at distance 1, 3, 5 that predict a smooth field between them with the
/// least mean square error; its covariance is exp(-d^2 / 4 sigma^2). Far wider than the distance:
/// polynomial interpolation, which they tend to.
std::array<double, 3> between_weights(double sigma) {
  if (sigma > 12) return {150.0 / 256, -25.0 / 256, 3.0 / 256};
  const auto covariance = [&](double d) { return std::exp(-d * d / (4 * sigma * sigma)); };
  std::array<std::array<double, 4>, 3> m{};
  for (int i = 0; i < 3; ++i) {
    const double at = 2 * i + 1;
    for (int j = 0; j < 3; ++j)
      m[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] =
          covariance(at - (2 * j + 1)) + covariance(at + 2 * j + 1);
    m[static_cast<std::size_t>(i)][3] = covariance(at);
  }
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t r = 0; r < 3; ++r) {
      if (r == c) continue;
      const double factor = m[r][c] / m[c][c];
      for (std::size_t k = c; k < 4; ++k)
        m[r][k] -= factor * m[c][k];
    }
  return {m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2]};
}

}  // namespace

std::vector<double> smooth_noise_reference(const SmoothNoise& field) {
  const int radius = radius_of(field.sigma), w = field.width, h = field.height;
  const NormalNoise noise(field.key);
  const auto half = static_cast<std::uint64_t>(half_of(w));
  const auto at = [&](int x, int y) {
    const auto column = static_cast<std::uint64_t>(std::clamp(x, 0, w - 1));
    const auto row = static_cast<std::uint64_t>(std::clamp(y, 0, h - 1));
    return noise.at(row * 2 * half + column % 2 * half + column / 2) / kNormalStd;
  };
  double sum = 0;
  for (int d = -radius; d <= radius; ++d)
    sum += weight(field.sigma, d);
  const auto index = [&](int x, int y) {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(w) + static_cast<std::size_t>(x);
  };
  std::vector<double> rows(index(0, h)), both(index(0, h));
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x)
      for (int d = -radius; d <= radius; ++d)
        rows[index(x, y)] += at(x + d, y) * weight(field.sigma, d) / sum;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x)
      for (int d = -radius; d <= radius; ++d)
        both[index(x, y)] += rows[index(x, std::clamp(y + d, 0, h - 1))] * weight(field.sigma, d) /
                             sum * field.scale;
  return both;
}

SmoothNoiseRows::SmoothNoiseRows(const SmoothNoise& field, Scratch& scratch)
    : field_(field), radius_(radius_of(field.sigma)), half_(half_of(field.width)) {
  assert(field.sigma >= SmoothNoise::kLeastSigma && field.sigma <= SmoothNoise::kMostSigma);
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  coarse_width_ = field.width / 2 + 1 + 5;
  lead_ = radius_ / 2 + 4;
  const int reach = lead_ + coarse_width_ + radius_ + 4;
  even_ = scratch.take<float>(size(std::max(reach, lead_ + half_)));
  odd_ = scratch.take<float>(size(std::max(reach, lead_ + half_)));
  made_ = scratch.take<float>(size(2 * half_));
  taps_ = scratch.take<float>(size(2 * radius_ + 1));
  window_ = scratch.take<const float*>(size(2 * radius_ + 1));
  blurred_ = scratch.take<float>(size((2 * radius_ + 1) * (coarse_width_ + 64)));
  coarse_ = scratch.take<float>(size(kCoarseRing * (coarse_width_ + 64)));
  row_ = scratch.take<float>(size(coarse_width_ + 64 + 2 * coarse_width_));

  double sum = 0;
  for (int d = -radius_; d <= radius_; ++d)
    sum += weight(field.sigma, d);
  for (int d = -radius_; d <= radius_; ++d)
    taps_[size(d + radius_)] = static_cast<float>(weight(field.sigma, d) / sum);
  // Offsets that are even and odd; the first of each is -radius_ or the next.
  even_taps_ = scratch.take<float>(size(radius_ + 1));
  odd_taps_ = scratch.take<float>(size(radius_ + 1));
  std::size_t even = 0, odd = 0;
  for (int d = -radius_; d <= radius_; ++d)
    (d % 2 == 0 ? even_taps_[even++] : odd_taps_[odd++]) = taps_[size(d + radius_)];
  even_taps_ = even_taps_.first(even);
  odd_taps_ = odd_taps_.first(odd);
  const auto w = between_weights(field.sigma);
  for (std::size_t k = 0; k < 3; ++k)
    between_[2 - k] = between_[3 + k] = static_cast<float>(w[k]);
}

/// Noise row `blurred_rows_`, blurred along itself at every second column.
void SmoothNoiseRows::add_blurred_row() {
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  kernels::fill_normal(made_.data(), made_.size(), NormalNoise(field_.key),
                       static_cast<std::uint32_t>(blurred_rows_ * (half_ / 2)),
                       static_cast<float>(field_.scale / kNormalStd));
  const int evens = (field_.width + 1) / 2, odds = field_.width / 2;
  const float first = made_[0];
  const float last = made_[size((field_.width - 1) % 2 * half_ + (field_.width - 1) / 2)];
  for (const auto& [to, from, count] :
       {std::tuple(even_, made_.data(), evens), std::tuple(odd_, made_.data() + half_, odds)}) {
    std::fill_n(to.begin(), lead_, first);
    std::copy_n(from, count, to.begin() + lead_);
    std::fill(to.begin() + lead_ + count, to.end(), last);
  }
  // Coarse column 0 lies at x = -4; its first even offset is e, its first odd one o.
  const int e = radius_ % 2 == 0 ? -radius_ : -radius_ + 1;
  const int o = radius_ % 2 == 0 ? -radius_ + 1 : -radius_;
  const int slot = blurred_rows_ % (2 * radius_ + 1);
  kernels::blur_across(&blurred_[size(slot * (coarse_width_ + 64))],
                       &even_[size(lead_ - 2 + e / 2)], &odd_[size(lead_ - 2 + (o - 1) / 2)],
                       coarse_width_, even_taps_, odd_taps_);
  ++blurred_rows_;
}

void SmoothNoiseRows::add_coarse_row() {
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  const int y = 2 * coarse_rows_ - 4;
  while (blurred_rows_ <= std::clamp(y + radius_, 0, field_.height - 1))
    add_blurred_row();
  for (int d = -radius_; d <= radius_; ++d) {
    const int slot = std::clamp(y + d, 0, field_.height - 1) % (2 * radius_ + 1);
    window_[size(d + radius_)] = &blurred_[size(slot * (coarse_width_ + 64))];
  }
  kernels::blur_down(&coarse_[size(coarse_rows_ % kCoarseRing * (coarse_width_ + 64))], window_,
                     coarse_width_, taps_);
  ++coarse_rows_;
}

const float* SmoothNoiseRows::coarse_row(int index) {
  while (coarse_rows_ <= index)
    add_coarse_row();
  return &coarse_[static_cast<std::size_t>(index % kCoarseRing * (coarse_width_ + 64))];
}

const float* SmoothNoiseRows::next() {
  const int index = y_ / 2;  // of the first of the six rows around
  const float* between = nullptr;
  if (y_ % 2 == 0) {
    between = coarse_row(index + 2);
  } else {
    std::array<const float*, 6> rows{};
    (void)coarse_row(index + 5);
    for (int k = 0; k < 6; ++k)
      rows[static_cast<std::size_t>(k)] = coarse_row(index + k);
    kernels::blur_down(row_.data(), rows, coarse_width_, between_);
    between = row_.data();
  }
  float* const dst = row_.data() + coarse_width_ + 64;
  kernels::fill_between(dst, between, field_.width, between_);
  ++y_;
  return dst;
}

}  // namespace sluice::aug
