// sluice/train/cuda/table.h - the interface between the program and libsluice_cuda.so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/kernels.h"

#include <cstddef>
#include <cstdint>

// The module is built with the program, by nvcc and the same host compiler. Any change here or in
// kernels.h raises kCudaAbi. No function throws or prints. Calls are made by one thread at a time.

namespace sluice::train::cuda {

inline constexpr std::uint32_t kCudaAbi = 1;
inline constexpr const char* kCudaSymbol = "sluice_cuda_table";

struct Device;  // one GPU, one stream, a cuBLASLt handle and a workspace
struct Graph;   // a captured sequence of calls

struct DeviceFacts {
  char name[128];
  int major = 0, minor = 0, multiprocessors = 0;
  int driver = 0, runtime = 0;  // as cudaDriverGetVersion gives them: 13000 is 13.0
  std::size_t total_bytes = 0, free_bytes = 0, l2_bytes = 0;
};

/// 0 is success; otherwise message() of the device (or `why`) says what failed.
enum : int { kDone = 0, kFailed = 1, kOutOfMemory = 2, kHung = 3 };

struct Table {
  std::uint32_t abi = kCudaAbi;
  const char* library = nullptr;  // "CUDA 13.0, cuBLASLt 13.1.0"
  /// Without a driver or a device: kFailed and `why`.
  int (*device_count)(int* count, char* why, std::size_t why_bytes) = nullptr;
  int (*facts)(int index, DeviceFacts* facts, char* why, std::size_t why_bytes) = nullptr;
  /// Refuses an architecture below 8.0.
  int (*open)(int index, Device** device, char* why, std::size_t why_bytes) = nullptr;
  void (*close)(Device* device) = nullptr;
  const char* (*message)(Device* device) = nullptr;  // of the last call that failed

  int (*allocate)(Device* device, std::size_t bytes, void** memory) = nullptr;  // kOutOfMemory
  void (*release)(Device* device, void* memory) = nullptr;
  std::size_t (*own_bytes)(Device* device) = nullptr;  // workspace, beside what was allocated

  /// In the order of the stream. `from` may be used again when upload returns.
  int (*upload)(Device* device, void* to, const void* from, std::size_t bytes) = nullptr;
  int (*download)(Device* device, void* to, const void* from,
                  std::size_t bytes) = nullptr;  // waits
  int (*multiply)(Device* device, const Product* product) = nullptr;
  int (*launch)(Device* device, const KernelCall* call) = nullptr;
  /// Waits at most this long: kHung when the stream is still busy then.
  int (*synchronize)(Device* device, double limit_seconds) = nullptr;

  /// Between the two, calls are recorded, not run. Every product must have run once before.
  int (*begin_capture)(Device* device) = nullptr;
  int (*end_capture)(Device* device, Graph** graph) = nullptr;
  int (*run_graph)(Device* device, Graph* graph) = nullptr;
  void (*drop_graph)(Device* device, Graph* graph) = nullptr;

  /// Events by number, made when first named. Recorded inside a capture they are part of the graph.
  int (*record)(Device* device, int event) = nullptr;
  int (*elapsed)(Device* device, int from, int to, double* nanoseconds) = nullptr;  // waits
  void (*push_range)(const char* name) = nullptr;                                   // NVTX
  void (*pop_range)() = nullptr;
};

using TableFunction = const Table*();  // extern "C", the one symbol of the module

}  // namespace sluice::train::cuda
