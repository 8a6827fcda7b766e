// sluice/aug/kernels/byte_map.h - a table of 256 bytes as arithmetic where that gives the same
// bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// How map_bytes() is to give table[x]. `linear`: with t = (bias + mul x) >> shift, or bias - mul x
/// where `minus`, and t of 0 to 255 for every x, the result is t - drop, to which `keep` adds x;
/// sums saturate.
struct ByteMap {
  enum class Kind : std::uint8_t { same, linear, table };
  Kind kind = Kind::table;
  bool keep = false;
  bool minus = false;
  std::uint8_t mul = 0;
  std::uint8_t shift = 8;  // 8 to 15
  std::uint8_t drop = 0;
  std::uint16_t bias = 0;
  std::array<std::uint8_t, 256> table{};
};

/// Looks for the cheapest form that gives the table, trying all 256 values; `gain` is the slope the
/// table has where it does not saturate.
ByteMap plan_byte_map(const std::array<std::uint8_t, 256>& table, double gain);

/// A map per channel; dst may be src.
void map_byte_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                       std::size_t channels, const ByteMap* maps);

/// dst[i] = table[src[i]]; dst may be src.
void map_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t count, const ByteMap& map);

}  // namespace sluice::aug::kernels
