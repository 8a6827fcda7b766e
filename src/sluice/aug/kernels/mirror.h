// sluice/aug/kernels/mirror.h - a row of pixels, last pixel first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// Rows of `pixels` pixels of `pixel_bytes` bytes each, of any sample type. Pitches in bytes; a
/// negative one walks the image from the bottom. No overlap.
struct MirrorRows {
  std::uint8_t* dst;
  std::ptrdiff_t dst_pitch;
  const std::uint8_t* src;
  std::ptrdiff_t src_pitch;
  std::size_t pixels, rows, pixel_bytes;
};
void mirror(const MirrorRows& job);

}  // namespace sluice::aug::kernels
