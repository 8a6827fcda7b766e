// sluice/train/cuda_module/device.h - what the module keeps for an open GPU, and how a failed call
// becomes words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/table.h"
#include "sluice/train/cuda_module/copies.h"
#include "sluice/train/cuda_module/launch.h"
#include "sluice/train/cuda_module/ranks.h"

#include <cublasLt.h>

#include <cstddef>
#include <vector>

namespace sluice::train::cuda {

inline constexpr std::size_t kWorkspaceBytes = std::size_t{64}
                                               << 20;  // one each: kernels, products
inline constexpr double kLongestWait = 600;            // seconds, where the caller names no limit

struct Device {
  int index = 0;
  Launch launch;  // the stream and the workspace of the kernels
  cublasLtHandle_t products = nullptr;
  void* product_workspace = nullptr;
  cudaStream_t sends = nullptr;  // copies of whole batches, beside the other
  Staging staging;
  Ranks ranks;
  std::vector<cudaEvent_t> events;  // by number; null: not yet named
  bool capturing = false;
  bool hung = false;     // a wait ended at its limit: what would wait for the device is not called
  double last_wait = 0;  // seconds, of the last wait that was not short
  char message[512] = "";
};

/// Keeps "call: NAME: text" as the device's message and takes the error out of the runtime, where
/// the next launch would find it. kOutOfMemory for that, otherwise kFailed.
int fail(Device& device, const char* call, cudaError_t error);
int fail(Device& device, const char* call, cublasStatus_t error);
/// The same for what is refused here, with printf's arguments: kFailed.
__attribute__((format(printf, 2, 3))) int refuse(Device& device, const char* format, ...);

/// Makes the device current in this thread: the first thing of every call.
int enter(Device& device);
/// enter() for calls that cannot be part of a capture.
int enter_uncaptured(Device& device, const char* call);

/// kHung at the limit.
int wait_for_event(Device& device, cudaEvent_t event, double limit_seconds);
int wait_for_stream(Device& device, double limit_seconds);

// Functions of the table, see table.h.
int device_count(int* count, char* why, std::size_t why_bytes);
int facts(int index, DeviceFacts* facts, char* why, std::size_t why_bytes);
int open(int index, Device** device, char* why, std::size_t why_bytes);
void close(Device* device);
int pin(int index, std::size_t bytes, void** memory, char* why, std::size_t why_bytes);
void unpin(void* memory);
int allocate(Device& device, std::size_t bytes, void** memory);
void release(Device& device, void* memory);

}  // namespace sluice::train::cuda
