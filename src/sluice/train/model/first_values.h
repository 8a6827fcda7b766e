// sluice/train/model/first_values.h - the values that parameters begin with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/program/program.h"

#include <cstdint>
#include <vector>

namespace sluice::train {

/// ones, 1e-4 (LayerScale), a normal of 0.02 cut at ±2, or U(±1/sqrt(fan in)); draws are keyed by
/// (seed, the parameter's ordinal), so they depend on nothing else.
std::vector<float> first_values(const Parameter& parameter, const Tensor& tensor,
                                std::uint64_t seed);

}  // namespace sluice::train
