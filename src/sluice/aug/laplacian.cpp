// sluice/aug/laplacian.cpp - x, plus a share of its difference to the neighbours.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/laplacian.h"

#include "sluice/aug/border.h"
#include "sluice/aug/kernels/neighbours.h"
#include "sluice/aug/kernels/separable.h"
#include "sluice/aug/staged.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

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

}  // namespace

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

template void laplacian_fast(const Frames<std::uint8_t>&, const Laplacian&, Scratch&);
template void laplacian_fast(const Frames<float>&, const Laplacian&, Scratch&);
template void laplacian_reference(ImageSpan<std::uint8_t>, ImageView<std::uint8_t>,
                                  const Laplacian&);
template void laplacian_reference(ImageSpan<float>, ImageView<float>, const Laplacian&);

}  // namespace sluice::aug
