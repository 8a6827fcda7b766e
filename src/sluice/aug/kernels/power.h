// sluice/aug/kernels/power.h - samples to a power.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sluice::aug::kernels {

/// x to `exponent`; what is not above 0 becomes 0. Within 1e-6 for x of 0 to 1 and exponents of 0.1
/// to 10. dst may be src.
void power(float* dst, const float* src, std::size_t count, float exponent);

}  // namespace sluice::aug::kernels
