// sluice/aug/kernels/permute.h - the channels of pixels in another order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// Channel c of dst is channel order[c] of src. dst may be src.
void permute_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                      std::size_t channels, const std::uint8_t* order);
void permute_channels(float* dst, const float* src, std::size_t pixels, std::size_t channels,
                      const std::uint8_t* order);

}  // namespace sluice::aug::kernels
