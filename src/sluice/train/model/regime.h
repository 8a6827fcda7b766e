// sluice/train/model/regime.h - which numbers are kept in which type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/dtype.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::train {

const char* to_string(Dtype dtype);  // as safetensors and reports spell it: F32, BF16, I32
std::size_t bytes_of(Dtype dtype);

/// fp32: everything. mixed (regime B): fp32 weights, gradients, optimizer state and residual
/// stream; activations and matrix products bf16 with fp32 sums. mixed_bf16_residual: the same with
/// a bf16 residual stream. bf16 (regime A): weights hold bf16 values too; forward and backward
/// only, no optimizer.
enum class Regime : std::uint8_t { fp32, mixed, mixed_bf16_residual, bf16 };
const char* to_string(Regime regime);
/// As `--dtype` spells them: fp32, bf16 (mixed), bf16-residual, bf16-weights. Usage error
/// otherwise.
Result<Regime> parse_regime(std::string_view text);

Dtype activation_type(Regime regime);
Dtype residual_type(Regime regime);

}  // namespace sluice::train
