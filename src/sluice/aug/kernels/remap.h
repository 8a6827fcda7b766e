// sluice/aug/kernels/remap.h - one output row of a warp: source coordinates in, pixels of every
// frame out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// Pixels are made in groups of so many; buffers of a row hold whole groups.
inline constexpr int kRemapGroup = 8;
/// Whole stretches of so many are tested at once for lying inside.
inline constexpr int kRemapBlock = 4 * kRemapGroup;

/// Buffers of one output row, from take_remap_row. The caller writes `x` and `y`, `width` values
/// each: where the pixel comes from, pixel centres at integers. The rest belongs to the kernels.
struct RemapRow {
  float* x = nullptr;
  float* y = nullptr;
  std::int32_t* offset = nullptr;  // bytes from the first sample to the upper left tap
  float* share_x = nullptr;        // f32: weight of the right taps
  float* share_y = nullptr;        // f32: weight of the lower taps
  std::uint8_t* wx = nullptr;      // u8: the same in 1/256
  std::int16_t* wy = nullptr;      // u8: the same in 1/32768, multiples of 32
  std::uint8_t* kind = nullptr;    // of each group
  std::byte* patch = nullptr;      // taps of a group at the edge, brought together
  std::byte* tail = nullptr;       // the last group of a row is made here
  int width = 0;
  /// x and y each rise or fall all along the row: the ends of a stretch bound it.
  bool monotone = false;
};

RemapRow take_remap_row(Scratch& scratch, int width, int channels, std::size_t sample_bytes);

/// Row `y` of every frame, bilinear; taps outside the source are `fill`. Coordinates that are not
/// numbers lie outside. u8: within 0.65 level of the exact blend before rounding.
void remap_row_bilinear(const Frames<std::uint8_t>& frames, int y, const RemapRow& row,
                        std::uint8_t fill);
void remap_row_bilinear(const Frames<float>& frames, int y, const RemapRow& row, float fill);

/// The same with the nearest pixel, halves upwards.
void remap_row_nearest(const Frames<std::uint8_t>& frames, int y, const RemapRow& row,
                       std::uint8_t fill);
void remap_row_nearest(const Frames<float>& frames, int y, const RemapRow& row, float fill);

/// A whole warp by the nearest pixel and an affine matrix, output to input, row major: stretches
/// inside are known from the matrix. False, and nothing done, where 32 bits of fraction would not
/// fit.
bool warp_nearest_affine(const Frames<std::uint8_t>& frames, const RemapRow& row,
                         const std::array<double, 6>& matrix, std::uint8_t fill);
bool warp_nearest_affine(const Frames<float>& frames, const RemapRow& row,
                         const std::array<double, 6>& matrix, float fill);

}  // namespace sluice::aug::kernels
