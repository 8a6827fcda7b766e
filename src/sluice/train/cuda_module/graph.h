// sluice/train/cuda_module/graph.h - sequences of calls that run as one, and events in them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/table.h"

#include <cuda_runtime.h>

namespace sluice::train::cuda {

// Functions of the table, see table.h.
int begin_capture(Device& device);
int end_capture(Device& device, Graph** graph);
int run_graph(Device& device, Graph& graph);
void drop_graph(Device& device, Graph* graph);
int record(Device& device, int event);
int record_on(Device& device, int event, cudaStream_t stream);  // the same elsewhere
int elapsed(Device& device, int from, int to, double* nanoseconds);
int send(Device& device, void* to, const void* from, std::size_t bytes, int after, int begun,
         int sent);
int await(Device& device, int event);
int await_other(Device& device, void* event);
void* event_of(Device& device, int event);
int reached(Device& device, int event, double limit_seconds);

}  // namespace sluice::train::cuda
