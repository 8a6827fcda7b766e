// sluice/aug/kernels/bits.h - samples inverted, or cut to their high bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// 255 - x; dst may be src.
void invert(std::uint8_t* dst, const std::uint8_t* src, std::size_t count);
/// 1 - x; dst may be src.
void invert(float* dst, const float* src, std::size_t count);

/// x & mask; dst may be src.
void keep_bits(std::uint8_t* dst, const std::uint8_t* src, std::size_t count, std::uint8_t mask);

/// x & mask[channel]; dst may be src.
void keep_bits_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                        std::size_t channels, const std::uint8_t* masks);

}  // namespace sluice::aug::kernels
