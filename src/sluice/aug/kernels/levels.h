// sluice/aug/kernels/levels.h - floats of 0 to 1 as 256 levels, and back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// floor(255 x + 1/2), within 0 to 255.
void to_levels(std::uint8_t* dst, const float* src, std::size_t count);
/// x / 255, rounded as a product.
void from_levels(float* dst, const std::uint8_t* src, std::size_t count);

}  // namespace sluice::aug::kernels
