// sluice/aug/filters/gaussian.h - the Gaussian kernel of GaussianBlur and UnsharpMask, and its
// definition.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"

#include <array>
#include <cstdint>

namespace sluice::aug {

/// One axis: [0] is the centre, [k] the weight k pixels away. u8 images are blurred in fixed point:
/// columns first with weights in 256ths, kept in 128ths; then rows, each pair averaged and weighted
/// in 32768ths. Every step rounds half up.
struct GaussianTaps {
  int radius = 1;                          // 1 to 3
  std::array<double, 4> exact{};           // sums to 1 over both sides
  std::array<std::uint16_t, 4> columns{};  // 256ths, one side
  std::array<std::int16_t, 4> rows{};      // 32768ths, both sides together
};

/// `size` 3, 5 or 7. `sigma` 0 gives the kernels OpenCV has for it: 1 2 1, 1 4 6 4 1, 2 7 14 18 14
/// 7 2.
GaussianTaps gaussian_taps(int size, double sigma);

/// The blurred sample, borders mirrored (reflect_101).
int blurred_reference(const ImageView<std::uint8_t>& src, int x, int y, int c,
                      const GaussianTaps& taps);
double blurred_reference(const ImageView<float>& src, int x, int y, int c,
                         const GaussianTaps& taps);

}  // namespace sluice::aug
