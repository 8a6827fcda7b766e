// sluice/aug/kernels/noise_levels.h - normal noise in levels, and rows of levels added to samples.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/procedural/noise.h"

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// dst[i] = round(offset + noise.at(4 * first_word + i) * scale), within 1 of that; |offset| at
/// most 255, scale at most 4.
void fill_levels(std::int16_t* dst, std::size_t count, const NormalNoise& noise,
                 std::uint32_t first_word, double scale, double offset);

/// dst[i] = saturate(src[i] + levels[i]); levels has a vector of slack. dst may be src.
void add_levels(std::uint8_t* dst, const std::uint8_t* src, const std::int16_t* levels,
                std::size_t count);
/// dst[i] = clamp(src[i] + levels[i], 0, 1).
void add_levels(float* dst, const float* src, const float* levels, std::size_t count);

/// dst[i] = saturate(src[i] + level). dst may be src.
void add_level(std::uint8_t* dst, const std::uint8_t* src, std::size_t count, int level);
void add_level(float* dst, const float* src, std::size_t count, float level);

/// dst[i] = saturate(src[i] + layer[i]). dst may be src.
void add_layer(std::uint8_t* dst, const std::uint8_t* src, const std::uint8_t* layer,
               std::size_t count);

}  // namespace sluice::aug::kernels
