// sluice/loader/gpu/jpeg_header.h - whether JPEG engines should be given these bytes, from markers
// alone: no coefficient is decoded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/codec.h"

#include <cstddef>
#include <cstdint>

namespace sluice::loader::gpu {

/// Why a sample is for the CPU.
enum class Refusal : std::uint8_t {
  none,
  format,   // no JPEG
  coding,   // progressive, arithmetic, lossless, 12 bits, several scans
  colours,  // CMYK, RGB, or chroma other than 4:4:4, 4:2:2, 4:4:0, 4:2:0
  damaged,  // markers that do not follow one another, no end, missing restarts, a hole of zeros
  small,    // less than 16 pixels a side: engines colour an edge of one pixel in their own way
};
inline constexpr std::size_t kRefusals = 6;
const char* to_string(Refusal refusal);

struct JpegLook {
  Refusal refusal = Refusal::format;
  int width = 0;  // with Refusal::none
  int height = 0;
};

/// Walks over all markers, those within the scan too, and looks for holes of zeros: engines say
/// nothing of a file that was cut off. Bits that flipped between two markers are not found.
JpegLook look_at_jpeg(image::Bytes bytes);

}  // namespace sluice::loader::gpu
