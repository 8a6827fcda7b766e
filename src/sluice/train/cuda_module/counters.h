// sluice/train/cuda_module/counters.h - hardware counters of a GPU over a piece of work, by CUPTI's
// range profiler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/table.h"

namespace sluice::train::cuda {

// A function of the table, see table.h.
int count(int index, const char* const* names, std::size_t number, CountedWork* work, void* context,
          double* values, char* why, std::size_t why_bytes);

}  // namespace sluice::train::cuda
