// sluice/aug/colour/jpeg_tables.h - quantisation of JPEG: the tables of Annex K scaled by quality.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace sluice::aug {

using JpegTable = std::array<int, 64>;  // row by row

// clang-format off
inline constexpr JpegTable kJpegLuminance{
    16, 11, 10, 16,  24,  40,  51,  61,
    12, 12, 14, 19,  26,  58,  60,  55,
    14, 13, 16, 24,  40,  57,  69,  56,
    14, 17, 22, 29,  51,  87,  80,  62,
    18, 22, 37, 56,  68, 109, 103,  77,
    24, 35, 55, 64,  81, 104, 113,  92,
    49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103,  99};
inline constexpr JpegTable kJpegChrominance{
    17, 18, 24, 47, 99, 99, 99, 99,
    18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99,
    47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99};
// clang-format on

/// As the IJG defines quality, 1 to 100; 50 is the table itself.
inline JpegTable jpeg_table(const JpegTable& base, int quality) {
  const int percent = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  JpegTable table{};
  for (std::size_t i = 0; i < 64; ++i)
    table[i] = std::clamp((base[i] * percent + 50) / 100, 1, 255);
  return table;
}

}  // namespace sluice::aug
