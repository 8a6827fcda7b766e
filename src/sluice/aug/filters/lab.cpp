// sluice/aug/filters/lab.cpp - 8-bit L*a*b* of sRGB in fixed point: the tables that define it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/filters/lab.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

// IEC 61966-2-1, rows X, Y, Z divided by the white point.
constexpr double kToXyz[3][3] = {{0.412453 / 0.950456, 0.357580 / 0.950456, 0.180423 / 0.950456},
                                 {0.212671, 0.715160, 0.072169},
                                 {0.019334 / 1.088754, 0.119193 / 1.088754, 0.950227 / 1.088754}};
constexpr double kFromXyz[3][3] = {{3.240479 * 0.950456, -1.53715, -0.498535 * 1.088754},
                                   {-0.969256 * 0.950456, 1.875991, 0.041556 * 1.088754},
                                   {0.055648 * 0.950456, -0.204043, 1.057311 * 1.088754}};

double to_linear(double s) {
  return s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
}
double to_srgb(double v) {
  return v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
}
double lab_f(double t) {
  return t < 0.008856 ? 7.787 * t + 16.0 / 116 : std::cbrt(t);
}

LabTables make_tables() {
  LabTables tables;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      const double weight = static_cast<double>(std::lround(kToXyz[i][c] * 4096));
      for (std::size_t level = 0; level < 256; ++level) {
        const auto linear =
            static_cast<double>(std::lround(2040 * to_linear(static_cast<double>(level) / 255)));
        tables.share[i][c][level] = static_cast<std::uint32_t>(std::lround(linear * weight / 4));
      }
      // q is 0.6 f in 32768ths, so v is 0.216 of X, Y or Z
      tables.from_xyz[c][i] = static_cast<std::int32_t>(std::lround(kFromXyz[c][i] * 4095 / 0.216));
    }
  for (std::size_t t = 0; t < tables.f.size(); ++t) {
    tables.f[t] = static_cast<std::uint16_t>(
        std::lround(32768 * lab_f(std::min(static_cast<double>(t) / 2040, 1.0))));
    // Rounded as OpenCV does: steep tables of tiles make more of a level.
    tables.lightness[t] = static_cast<std::uint8_t>((296 * tables.f[t] - 1336934 + 16384) / 32768);
  }
  for (std::size_t v = 0; v < tables.encode.size(); ++v)
    tables.encode[v] =
        static_cast<std::uint8_t>(std::lround(255 * to_srgb(static_cast<double>(v) / 4095)));
  return tables;
}

}  // namespace

const LabTables& lab_tables() {
  static const LabTables tables = make_tables();
  return tables;
}

}  // namespace sluice::aug
