// sluice/aug/kernels/solarize.h - max - x where x >= threshold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// dst may be src.
void solarize(std::uint8_t* dst, const std::uint8_t* src, std::size_t count,
              std::uint8_t threshold);
void solarize(float* dst, const float* src, std::size_t count, float threshold);

}  // namespace sluice::aug::kernels
