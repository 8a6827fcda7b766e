// sluice/aug/kernels/grey.h - pixels of several channels to grey ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// (9798 r + 19235 g + 3735 b + 2^14) / 2^15, as OpenCV weights them, in each of 1 or 3 channels.
/// In place only with 3.
void grey_rgb(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels, int channels_out);
/// 0.299 r + 0.587 g + 0.114 b in each of 1 or 3 channels. In place only with 3.
void grey_rgb(float* dst, const float* src, std::size_t pixels, int channels_out);

/// The mean of the channels, for bytes rounded down, in as many channels. dst may be src.
void grey_mean(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
               std::size_t channels);
void grey_mean(float* dst, const float* src, std::size_t pixels, std::size_t channels);

}  // namespace sluice::aug::kernels
