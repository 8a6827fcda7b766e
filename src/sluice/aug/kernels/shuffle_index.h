// sluice/aug/kernels/shuffle_index.h - the first places of a random order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/procedural/noise.h"

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// The first `count` values of order.at(0), order.at(1), ... that are below `size`. count is at
/// most size; dst needs Scratch slack.
void shuffled_indices(std::uint32_t* dst, std::size_t count, const ShuffledIndex& order,
                      std::uint32_t size);

}  // namespace sluice::aug::kernels
