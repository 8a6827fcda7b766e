// sluice/aug/kernels/median.h - the median over 5x5 pixels, per channel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/image.h"

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// Bytes of scratch memory.
std::size_t median_5x5_bytes(int channels);

/// Borders repeat the edge. `memory` is aligned to 64.
void median_5x5(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src,
                std::byte* memory);
void median_5x5(image::ImageSpan<float> dst, image::ImageView<float> src, std::byte* memory);

}  // namespace sluice::aug::kernels
