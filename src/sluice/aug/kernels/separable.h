// sluice/aug/kernels/separable.h - symmetric blurs of 3, 5 or 7 taps along columns, then rows, and
// the unsharp mask on top.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/image.h"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sluice::aug::kernels {

/// [0] is the centre, [k] what lies k pixels away. u8 images: columns are summed with `columns`
/// (256ths, one side) and kept in 128ths, rows with `rows` (32768ths, both sides together).
struct SymmetricWeights {
  int radius = 1;  // 1 to 3
  std::array<std::uint16_t, 4> columns{};
  std::array<std::int16_t, 4> rows{};
  std::array<float, 4> exact{};  // f32 images: one side
};

template <class Exact>
SymmetricWeights symmetric_weights(int radius, const std::array<std::uint16_t, 4>& columns,
                                   const std::array<std::int16_t, 4>& rows, const Exact& exact) {
  SymmetricWeights weights{radius, columns, rows, {}};
  for (std::size_t k = 0; k < 4; ++k)
    weights.exact[k] = static_cast<float>(exact[k]);
  return weights;
}

/// x + alpha (x - blurred) where |x - blurred| > threshold.
struct UnsharpRule {
  std::int16_t threshold = 0;
  std::int16_t alpha = 0;  // 32768ths
  float threshold_f32 = 0;
  float alpha_f32 = 0;
};

/// What a line of column sums is made of.
template <image::Sample T>
using LineSample = std::conditional_t<std::same_as<T, float>, float, std::int16_t>;

/// Samples of scratch memory `line` must hold.
constexpr std::size_t line_samples(int width, int channels, int radius) {
  return (static_cast<std::size_t>(width) + 2 * static_cast<std::size_t>(radius)) *
         static_cast<std::size_t>(channels);
}

/// Borders are mirrored (reflect_101). Rows are at least a vector long or have room (staged.h).
void blur(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src,
          const SymmetricWeights& weights, std::int16_t* line);
void blur(image::ImageSpan<float> dst, image::ImageView<float> src, const SymmetricWeights& weights,
          float* line);
void unsharp(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src,
             const SymmetricWeights& weights, const UnsharpRule& rule, std::int16_t* line);
void unsharp(image::ImageSpan<float> dst, image::ImageView<float> src,
             const SymmetricWeights& weights, const UnsharpRule& rule, float* line);

}  // namespace sluice::aug::kernels
