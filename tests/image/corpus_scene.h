// tests/image/corpus_scene.h - what the pixels of the corpus are, for the program that writes it
// and the test that reads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace sluice::image::corpus {

inline constexpr int kWidth = 26, kHeight = 18;  // no multiple of a block

using Rgb = std::array<std::uint8_t, 3>;

inline std::uint8_t byte(int value) {
  return static_cast<std::uint8_t>(value);
}

/// No two of its eight turns and mirrors are alike, and JPEG keeps it well.
inline Rgb rgb(int x, int y) {
  return {byte(30 + 7 * x), byte(40 + 9 * y), byte(200 - 3 * x - 3 * y)};
}
inline std::uint8_t grey(int x, int y) {
  return byte(20 + 5 * x + 5 * y);
}
/// Samples of `bits` bits.
inline int few_levels(int x, int y, int bits) {
  return (x + 2 * y) & ((1 << bits) - 1);
}
inline Rgb palette(int index) {
  return {byte(index * 11), byte(255 - index * 13), byte(index * 37)};
}
inline int palette_index(int x, int y) {
  return (x + y) & 15;
}
inline int rgb16(int x, int y, int c) {
  return (x * 2477 + y * 3571 + c * 9973 + 120) & 0xFFFF;
}
/// Ink, 255 is full.
inline std::array<std::uint8_t, 4> cmyk(int x, int y) {
  return {byte(20 + 6 * x), byte(210 - 8 * y), byte(60 + 3 * x), byte(30 + 2 * y)};
}
inline Rgb cmyk_as_rgb(int x, int y) {
  const auto ink = cmyk(x, y);
  Rgb result{};
  for (std::size_t c = 0; c < 3; ++c)
    result[c] = byte(((255 - ink[c]) * (255 - ink[3]) + 127) / 255);
  return result;
}

}  // namespace sluice::image::corpus
