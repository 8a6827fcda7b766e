// sluice/aug/kernels/lab_rows.h - rows of RGB to 8-bit L*a*b* planes and back, with the blend of
// tile tables between.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// Memory for one row: lab_row_bytes(width) bytes, aligned to 64.
constexpr std::size_t lab_row_bytes(std::size_t width) {
  return (width + 64) * 8;
}
/// Samples of a plane's row, so that vectors may overhang.
constexpr std::size_t lab_pitch(std::size_t width) {
  return (width + 63) / 64 * 64 + 64;
}

/// `l`, `a`, `b` hold lab_pitch(width) samples each.
void rgb_to_lab(std::uint8_t* l, std::uint8_t* a, std::uint8_t* b, const std::uint8_t* rgb,
                std::size_t width, std::byte* memory);

/// `cells` ranges of columns, each with a table of its own: starts[i] to starts[i + 1]. For each
/// column the shares of the left and the right tile, 32768ths.
struct BlendColumns {
  std::size_t cells = 0;
  const std::uint32_t* starts = nullptr;
  const std::int16_t* left = nullptr;
  const std::int16_t* right = nullptr;
};

/// l through the tables of one row of cells; `above` and `below` are the shares of the upper and
/// the lower tiles, 32768ths.
void blend_levels(std::uint8_t* l, const std::uint64_t* tables, const BlendColumns& columns,
                  std::int16_t above, std::int16_t below, std::size_t width, std::byte* memory);

void lab_to_rgb(std::uint8_t* rgb, const std::uint8_t* l, const std::uint8_t* a,
                const std::uint8_t* b, std::size_t width, std::byte* memory);

}  // namespace sluice::aug::kernels
