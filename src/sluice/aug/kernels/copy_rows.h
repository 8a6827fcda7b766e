// sluice/aug/kernels/copy_rows.h - rows to other places.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// `rows` times `bytes` bytes. Pitches in bytes; a negative one walks the image from the bottom. No
/// overlap.
struct CopyRows {
  std::uint8_t* dst;
  std::ptrdiff_t dst_pitch;
  const std::uint8_t* src;
  std::ptrdiff_t src_pitch;
  std::size_t bytes, rows;
};
void copy_rows(const CopyRows& job);

}  // namespace sluice::aug::kernels
