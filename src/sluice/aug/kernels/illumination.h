// sluice/aug/kernels/illumination.h - samples times a factor that varies over the image.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// Factors are in steps of 2^-14: 16384 is 1, 32767 nearly 2.
inline constexpr int kFactorOne = 1 << 14;

/// dst[x] = 1 + slope * sqrt((x - centre)^2 + dy^2); whole vectors are written.
void cone_factors(std::int16_t* dst, std::size_t width, float centre, float dy, float slope);
void cone_factors(float* dst, std::size_t width, float centre, float dy, float slope);

/// dst[i] = floor(src[i] * factors[i]), saturated; within 1 of it. dst may be src; side arrays need
/// slack.
void scale_samples(std::uint8_t* dst, const std::uint8_t* src, const std::int16_t* factors,
                   std::size_t count);
/// dst[i] = clamp(src[i] * factors[i], 0, 1).
void scale_samples(float* dst, const float* src, const float* factors, std::size_t count);

/// The factor is 1 + amplitude * profile[i]. Fixed point: profile in steps of 2^-15, amplitude of
/// 2^-14.
void scale_by_profile(std::uint8_t* dst, const std::uint8_t* src, const std::int16_t* profile,
                      std::int16_t amplitude, std::size_t count);
void scale_by_profile(float* dst, const float* src, const float* profile, float amplitude,
                      std::size_t count);

}  // namespace sluice::aug::kernels
