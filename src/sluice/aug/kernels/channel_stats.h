// sluice/aug/kernels/channel_stats.h - sums, ranges and histograms of the channels of interleaved
// pixels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// Adds the samples of each channel to sums[channel].
void add_channel_sums(std::uint64_t* sums, const std::uint8_t* src, std::size_t pixels,
                      std::size_t channels);
void add_channel_sums(double* sums, const float* src, std::size_t pixels, std::size_t channels);

/// Lowers low[channel] to the lowest level, and raises above[channel] to 1 more than the highest
/// level under 255.
void widen_channel_ranges(std::uint8_t* low, std::uint8_t* above, const std::uint8_t* src,
                          std::size_t pixels, std::size_t channels);

/// Adds to counts[256 * channel + level]. At most 2^32 - 1 pixels.
void add_channel_histograms(std::uint32_t* counts, const std::uint8_t* src, std::size_t pixels,
                            std::size_t channels);

}  // namespace sluice::aug::kernels
