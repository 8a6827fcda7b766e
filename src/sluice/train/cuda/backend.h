// sluice/train/cuda/backend.h - the backend for NVIDIA GPUs: libsluice_cuda.so does the work.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/backend.h"

namespace sluice::train::cuda {

/// For EngineConfig::device "cuda:N". Usage errors as device_facts() and a plan that does not fit.
Result<std::unique_ptr<Backend>> make_backend(const Program& program, const EngineConfig& config);

}  // namespace sluice::train::cuda
