// sluice/image/png/rows.h - rows of an 8-bit PNG: filters undone, samples made RGB.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::image::detail {

/// Bytes behind the last row, and behind the row `above`, that may be read.
inline constexpr std::size_t kPngSlack = 16;

/// Undoes the filters of `count` rows, in place. A row is its filter byte and then `row_bytes`
/// samples, `pixel_bytes` (1 to 4) of them a pixel. `above` holds the samples of the row before the
/// first: zeros for the top of the image. False at a filter that does not exist.
bool png_unfilter(std::uint8_t* rows, std::size_t row_bytes, int count, int pixel_bytes,
                  const std::uint8_t* above);

/// One row of `pixels` to RGB; alpha is dropped. channels: 1 grey, 2 grey + alpha, 3, 4 RGBA.
void png_to_rgb(std::uint8_t* rgb, const std::uint8_t* samples, std::size_t pixels, int channels);

}  // namespace sluice::image::detail
