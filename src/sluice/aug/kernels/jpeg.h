// sluice/aug/kernels/jpeg.h - the parts of a JPEG codec that lose something, without the file:
// bit for bit what libjpeg's integer DCT path computes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// Blocks are worked on in groups of so many pixels of a row, at most.
inline constexpr std::size_t kJpegGroup = 256;

/// Division by 8 * table and multiplication by table, row by row: level = ((|c| + bias) *
/// reciprocal) >> (15 + shift), exact for |c| + bias below 2^14.
struct JpegQuantiser {
  std::array<std::int16_t, 64> bias{};
  std::array<std::int16_t, 64> reciprocal{};
  std::array<std::int16_t, 64> shift{};
  std::array<std::int16_t, 64> factor{};

  static JpegQuantiser make(const std::array<int, 64>& table);  // 1 to 255
};

/// All blocks of a plane of width x height, in place: transformed, quantised and back. Rows of
/// the plane have kJpegGroup bytes for every one begun.
void jpeg_blocks(std::uint8_t* plane, std::size_t stride, std::size_t width, std::size_t height,
                 const JpegQuantiser& quantiser);

/// Two rows of BGR pixels to two of luma and one each of chroma, the last pixel repeated to a
/// multiple of 64.
void jpeg_to_ycc(std::uint8_t* luma0, std::uint8_t* luma1, std::uint8_t* cb, std::uint8_t* cr,
                 const std::uint8_t* bgr0, const std::uint8_t* bgr1, std::size_t width);

/// A row of chroma with its neighbours.
struct ChromaRows {
  const std::uint8_t* above;
  const std::uint8_t* here;
  const std::uint8_t* below;
};
/// What jpeg_from_ycc needs as `sums`, in values.
constexpr std::size_t jpeg_sums(std::size_t width) {
  return 4 * (width / 2 + 192);
}
/// And back, chroma upsampled with triangle weights; writes exactly 3 * width bytes per row.
void jpeg_from_ycc(std::uint8_t* bgr0, std::uint8_t* bgr1, const std::uint8_t* luma0,
                   const std::uint8_t* luma1, const ChromaRows& cb, const ChromaRows& cr,
                   std::size_t width, std::uint16_t* sums);

/// Three channels of an image of `channels` (2: the third is 0) to pixels of three, and back; one
/// channel to a row, its last sample repeated to a multiple of 64, and back. f32 is rounded.
void jpeg_gather_colour(std::uint8_t* dst, const std::uint8_t* src, std::size_t width,
                        int channels);
void jpeg_gather_colour(std::uint8_t* dst, const float* src, std::size_t width, int channels);
void jpeg_scatter_colour(std::uint8_t* dst, const std::uint8_t* src, std::size_t width,
                         int channels);
void jpeg_scatter_colour(float* dst, const std::uint8_t* src, std::size_t width, int channels);
void jpeg_gather_grey(std::uint8_t* dst, const std::uint8_t* src, std::size_t width, int channels);
void jpeg_gather_grey(std::uint8_t* dst, const float* src, std::size_t width, int channels);
void jpeg_scatter_grey(std::uint8_t* dst, const std::uint8_t* src, std::size_t width, int channels);
void jpeg_scatter_grey(float* dst, const std::uint8_t* src, std::size_t width, int channels);

}  // namespace sluice::aug::kernels
