// sluice/aug/kernels/smooth.h - pieces of a Gaussian blur of f32 rows whose result is wanted at
// every second pixel, and of filling in the others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/kernels/remap.h"

#include <array>
#include <span>

namespace sluice::aug::kernels {

/// dst[i] = sum of even_taps[k] even[i + k] and odd_taps[k] odd[i + k]. Arrays have the slack of
/// Scratch behind them.
void blur_across(float* dst, const float* even, const float* odd, int count,
                 std::span<const float> even_taps, std::span<const float> odd_taps);

/// dst[i] = sum of taps[k] rows[k][i].
void blur_down(float* dst, std::span<const float* const> rows, int count,
               std::span<const float> taps);

/// dst[2 i] = src[i + 2]; dst[2 i + 1] = sum of w[k] src[i + k]. `count` values of dst.
void fill_between(float* dst, const float* src, int count, const std::array<float, 6>& w);

/// Coordinates of row `y`: every pixel's own plus a displacement.
void displaced_row(const RemapRow& row, int y, const float* dx, const float* dy);

}  // namespace sluice::aug::kernels
