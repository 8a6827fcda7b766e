// sluice/aug/kernels/random.h - arrays of noise; the values are defined in aug/procedural/noise.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/procedural/noise.h"

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// dst[i] = noise_bits(stream, first + i).
void fill_bits(std::uint32_t* dst, std::size_t count, NoiseStream stream, std::uint32_t first);
/// noise_uniform of those bits: [0, 1).
void fill_uniform(float* dst, std::size_t count, NoiseStream stream, std::uint32_t first);
/// noise_signed of those bits: [-1, 1).
void fill_signed(float* dst, std::size_t count, NoiseStream stream, std::uint32_t first);

/// dst[i] = noise.at(4 * first_word + i): standard deviation kNormalStd.
void fill_normal(std::int16_t* dst, std::size_t count, const NormalNoise& noise,
                 std::uint32_t first_word);
/// dst[i] = float(noise.at(4 * first_word + i)) * scale; scale 1 / kNormalStd: standard normal.
void fill_normal(float* dst, std::size_t count, const NormalNoise& noise, std::uint32_t first_word,
                 float scale);

}  // namespace sluice::aug::kernels
