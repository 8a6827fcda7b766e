// sluice/aug/filters/gaussian.cpp - the Gaussian kernel of GaussianBlur and UnsharpMask, and its
// definition.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/filters/gaussian.h"

#include "sluice/aug/border.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace sluice::aug {
namespace {

std::array<double, 4> exact_weights(int radius, double sigma) {
  if (sigma == 0 && radius == 1) return {0.5, 0.25, 0, 0};
  if (sigma == 0 && radius == 2) return {6.0 / 16, 4.0 / 16, 1.0 / 16, 0};
  if (sigma == 0) return {18.0 / 64, 14.0 / 64, 7.0 / 64, 2.0 / 64};
  std::array<double, 4> weights{};
  double sum = 0;
  for (int k = 0; k <= radius; ++k) {
    const auto i = static_cast<std::size_t>(k);
    weights[i] = std::exp(-k * k / (2 * sigma * sigma));
    sum += k == 0 ? weights[i] : 2 * weights[i];
  }
  for (double& weight : weights)
    weight /= sum;
  return weights;
}

}  // namespace

GaussianTaps gaussian_taps(int size, double sigma) {
  assert(size == 3 || size == 5 || size == 7);
  GaussianTaps taps;
  taps.radius = size / 2;
  taps.exact = exact_weights(taps.radius, sigma);
  int column_rest = 256, row_rest = 32768;  // the centre takes what rounding left
  for (std::size_t k = 1; k <= static_cast<std::size_t>(taps.radius); ++k) {
    taps.columns[k] = static_cast<std::uint16_t>(std::lround(taps.exact[k] * 256));
    taps.rows[k] = static_cast<std::int16_t>(std::lround(taps.exact[k] * 65536));
    column_rest -= 2 * taps.columns[k];
    row_rest -= taps.rows[k];
  }
  taps.columns[0] = static_cast<std::uint16_t>(column_rest);
  taps.rows[0] = static_cast<std::int16_t>(std::min(row_rest, 32767));
  return taps;
}

int blurred_reference(const ImageView<std::uint8_t>& src, int x, int y, int c,
                      const GaussianTaps& taps) {
  const auto column = [&](int at) {  // 128ths
    int sum = 0;
    for (int k = -taps.radius; k <= taps.radius; ++k)
      sum += taps.columns[static_cast<std::size_t>(std::abs(k))] *
             src.at(reflect_101(at, src.width()), reflect_101(y + k, src.height()), c);
    return (sum + 1) / 2;
  };
  int sum = (column(x) * taps.rows[0] + 16384) / 32768;
  for (int k = 1; k <= taps.radius; ++k)
    sum +=
        ((column(x - k) + column(x + k) + 1) / 2 * taps.rows[static_cast<std::size_t>(k)] + 16384) /
        32768;
  return std::min((sum + 64) / 128, 255);
}

double blurred_reference(const ImageView<float>& src, int x, int y, int c,
                         const GaussianTaps& taps) {
  double sum = 0;
  for (int j = -taps.radius; j <= taps.radius; ++j)
    for (int i = -taps.radius; i <= taps.radius; ++i)
      sum += taps.exact[static_cast<std::size_t>(std::abs(i))] *
             taps.exact[static_cast<std::size_t>(std::abs(j))] *
             static_cast<double>(
                 src.at(reflect_101(x + i, src.width()), reflect_101(y + j, src.height()), c));
  return sum;
}

}  // namespace sluice::aug
