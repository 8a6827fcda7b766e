// sluice/aug/colour/jpeg_reference.h - what a JPEG file does to pixels, by its definition.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"

namespace sluice::aug {

/// Encoded and decoded as libjpeg does by default (integer DCT, 4:2:0, smooth chroma): 1 channel as
/// grey, 3 as blue, green, red.
void jpeg_grey_reference(ImageSpan<std::uint8_t> image, int quality);
void jpeg_bgr_reference(ImageSpan<std::uint8_t> image, int quality);

}  // namespace sluice::aug
