// sluice/aug/kernels/repeat.h - a value per pixel becomes a value per sample.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// dst[x * channels + c] = src[x]. Both need Scratch slack: whole vectors are read and written.
void repeat_pixels(std::uint8_t* dst, const std::uint8_t* src, std::size_t width, int channels);
void repeat_pixels(std::int16_t* dst, const std::int16_t* src, std::size_t width, int channels);
void repeat_pixels(float* dst, const float* src, std::size_t width, int channels);

}  // namespace sluice::aug::kernels
