// sluice/image/planes.h - interleaved RGB to three planes, as bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/image.h"

#include <cstddef>
#include <cstdint>

namespace sluice::image {

/// Row after row without gaps into planes that are `stride` bytes apart. `pixels` has three
/// channels.
void split_planes(std::uint8_t* out, std::size_t stride, ImageView<std::uint8_t> pixels);

/// The definition.
void split_planes_reference(std::uint8_t* out, std::size_t stride, ImageView<std::uint8_t> pixels);

}  // namespace sluice::image
