// sluice/train/cuda_module/ranks.h - sums over the GPUs of several ranks, by NCCL, beside the
// stream of the step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/table.h"

#include <cuda_runtime.h>

namespace sluice::train::cuda {

/// What a device that is one rank of several keeps.
struct Ranks {
  void* group = nullptr;  // NCCL's communicator
  int size = 0;
  int operation = 0;            // NCCL's number of how values are added
  cudaStream_t sums = nullptr;  // where they are
  cudaEvent_t fork = nullptr, join = nullptr;
};

// Functions of the table, see table.h.
int world_key(char* key, char* library, std::size_t library_bytes, char* why,
              std::size_t why_bytes);
int join_world(Device& device, int rank, int size, const char* key, double limit_seconds);
int start_sum(Device& device, float* values, std::size_t count, int begun);
int finish_sums(Device& device, int done);
int abandon_world(Device& device, double limit_seconds);

void leave_world(Device& device);

}  // namespace sluice::train::cuda
