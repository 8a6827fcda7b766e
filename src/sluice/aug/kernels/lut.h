// sluice/aug/kernels/lut.h - bytes through tables of 256 bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

inline constexpr std::size_t kLevels = 256;

/// dst[i] = table[src[i]]; dst may be src.
void lut(std::uint8_t* dst, const std::uint8_t* src, std::size_t count, const std::uint8_t* table);

/// A table per channel: `tables` holds `channels` of them, one after another. dst may be src.
void lut_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                  std::size_t channels, const std::uint8_t* tables);

}  // namespace sluice::aug::kernels
