// sluice/image/jpeg/exif.h - the EXIF orientation: found in the bytes, applied to pixels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/codec.h"
#include "sluice/image/image.h"

namespace sluice::image {

/// 1 to 8; 1 where there is none or it is broken (a damaged tag is no reason to refuse the pixels).
int jpeg_orientation(Bytes file);
int png_orientation(Bytes file);
int webp_orientation(Bytes file);
/// Of a TIFF block, what the APP1 segment (after "Exif\0\0"), the eXIf and the EXIF chunk hold.
int tiff_orientation(Bytes tiff);

/// Orientations 5 to 8 swap width and height.
constexpr bool orientation_swaps(int orientation) {
  return orientation >= 5;
}

/// dst = src as it is to be shown. Precondition: the shapes agree, no overlap, orientation 1 to 8.
void orient(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src, int orientation);

}  // namespace sluice::image
