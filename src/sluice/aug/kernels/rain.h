// sluice/aug/kernels/rain.h - the blurred layer of rain, row by row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// sums[i] += entering[i] - leaving[i]; whole vectors: all three need slack.
void move_sums(std::uint8_t* sums, const std::uint8_t* entering, const std::uint8_t* leaving,
               std::size_t count);
/// layer[x] = round(200 * (sums[x] + ... + sums[x + 6]) / 49), sums of seven flags each; whole
/// vectors: both need slack.
void rain_layer(std::uint8_t* layer, const std::uint8_t* sums, std::size_t width);

}  // namespace sluice::aug::kernels
