// sluice/aug/kernels/channel_affine.h - a sum, or a product and a sum, per channel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// x + up[channel] - down[channel], within 0 to 255; one of the two must be 0. dst may be src.
void shift_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                    std::size_t channels, const std::uint8_t* up, const std::uint8_t* down);

/// x * scale[channel] + offset[channel], within 0 to 1; product and sum may be fused. dst may be
/// src.
void affine_channels_clamped(float* dst, const float* src, std::size_t pixels, std::size_t channels,
                             const float* scale, const float* offset);
/// The same without bounds.
void affine_channels(float* dst, const float* src, std::size_t pixels, std::size_t channels,
                     const float* scale, const float* offset);
void affine_channels(float* dst, const std::uint8_t* src, std::size_t pixels, std::size_t channels,
                     const float* scale, const float* offset);

}  // namespace sluice::aug::kernels
