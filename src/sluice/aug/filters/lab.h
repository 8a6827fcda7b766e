// sluice/aug/filters/lab.h - 8-bit L*a*b* of sRGB in fixed point: the tables that define it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace sluice::aug {

/// L is 255/100 L*, a and b are a* + 128 and b* + 128, for white D65. There:
///   t_i = (sum over RGB of share[i][c][level] + 512) / 1024, i = X, Y, Z
///   L = lightness[t_Y], a = 128 + 500 (f[t_X] - f[t_Y]) / 32768, b = 128 + 200 (f[t_Y] - f[t_Z])
///   ..
/// and back, with q = 0.6 times f of X, Y, Z in 32768ths:
///   q_Y = kYFirst + L kYStep / 256, q_X = q_Y + (a - 128) kXStep / 256, q_Z = q_Y - ..
///   v_i = q_i^3, below kLinear: q_i kSlope - kOffset
///   RGB = encode[clamp(sum over XYZ of from_xyz[c][i] v_i, 0, 4095)]
/// Every division rounds half up.
struct LabTables {
  std::array<std::array<std::array<std::uint32_t, 256>, 3>, 3> share{};  // of 2040 * 1024
  std::array<std::uint16_t, 2048> f{};                                   // 32768ths, by 2040ths
  std::array<std::uint8_t, 2048> lightness{};
  std::array<std::array<std::int32_t, 3>, 3> from_xyz{};  // 32768ths, to 4095ths
  std::array<std::uint8_t, 4096> encode{};                // linear 4095ths to a level
};

inline constexpr int kLabYFirst = 2712,
                     kLabYStep = 17015;  // 0.6 * 16 / 116; 0.6 / 255 / 1.16 * 256
inline constexpr int kLabXStep = 10066, kLabZStep = 25166;  // 0.6 / 500 * 256, 0.6 / 200 * 256
inline constexpr int kLabLinear = 4068;                     // 0.6 * 6 / 29
inline constexpr int kLabSlope = 1515, kLabOffset = 125;  // 0.36 / 7.787; 0.216 * 16 / 116 / 7.787

const LabTables& lab_tables();

}  // namespace sluice::aug
