// sluice/aug/kernels/snow.h - lightness of dark pixels raised in HLS, without leaving RGB.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// RGB pixels whose lightness is below `limit` (levels): lightness times 2.5, at most 255, hue and
/// saturation kept. Within 1 of the exact value. dst may be src.
void snow(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels, double limit);
void snow(float* dst, const float* src, std::size_t pixels, double limit);

}  // namespace sluice::aug::kernels
