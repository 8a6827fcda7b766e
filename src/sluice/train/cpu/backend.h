// sluice/train/cpu/backend.h - the program on CPU threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/backend.h"

#include <memory>

namespace sluice::train::cpu {

/// Whether bf16 products would run here: the CPU has the instructions and the library uses them.
bool has_bf16();

/// `program` outlives the backend; its regime is the one in force. Unsupported without a matrix
/// library.
Result<std::unique_ptr<Backend>> make_backend(const Program& program, const EngineConfig& config);

}  // namespace sluice::train::cpu
