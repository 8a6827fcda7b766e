// sluice/train/cuda_module/trace.h - what ran on the devices, by CUPTI's activity records.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/table.h"

namespace sluice::train::cuda {

// Functions of the table, see table.h.
int begin_trace(bool ranges, char* why, std::size_t why_bytes);
int end_trace(ActivitySink* sink, void* context, char* why, std::size_t why_bytes);

/// A range began or ended, in the thread that launches; nothing while no trace with ranges runs.
void trace_push(const char* range);
void trace_pop();

}  // namespace sluice::train::cuda
