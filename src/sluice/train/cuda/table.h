// sluice/train/cuda/table.h - the interface between the program and libsluice_cuda.so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/kernels.h"

#include <cstddef>
#include <cstdint>

// The module is built with the program, by nvcc and the same host compiler. Any change here or in
// kernels.h raises kCudaAbi. No function throws or prints. Calls are made by one thread at a time.

namespace sluice::train::cuda {

inline constexpr std::uint32_t kCudaAbi = 10;
inline constexpr const char* kCudaSymbol = "sluice_cuda_table";

struct Device;  // one GPU, its stream and one for sends, a cuBLASLt handle and a workspace
struct Graph;   // a captured sequence of calls

inline constexpr std::size_t kWorldKeyBytes = 128;

struct DeviceFacts {
  char name[128];
  int major = 0, minor = 0, multiprocessors = 0;
  int driver = 0, runtime = 0;  // as cudaDriverGetVersion gives them: 13000 is 13.0
  std::size_t total_bytes = 0, free_bytes = 0, l2_bytes = 0;
};

/// 0 is success; otherwise message() of the device (or `why`) says what failed.
enum : int { kDone = 0, kFailed = 1, kOutOfMemory = 2, kHung = 3 };

/// Something that ran, by CUPTI. Times are steady_clock's nanoseconds; texts hold during the call.
enum class ActivityKind : int { kernel, copy, clear };
struct Activity {
  ActivityKind kind = ActivityKind::kernel;
  const char* name = "";   // a kernel's, mangled; "copy host to device"
  const char* range = "";  // the innermost push_range() around the launch, where asked for
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t stream = 0;
  std::uint64_t bytes = 0;
  bool in_graph = false;
};
using ActivitySink = void(void* context, const Activity* activity);

/// Work on a device, done when it returns; 0 is success.
using CountedWork = int(void* context);

/// One way in which a kernel is written. Which of a kernel's forms takes a call is decided by what
/// the call holds; none is taken on a device below `least`.
struct KernelForm {
  const char* kernel = nullptr;  // the record of kernels.h, "qkv_attention"
  const char* form = nullptr;    // "mma.sync", "plain"
  int least = 80;                // compute capability times 10
  int most = 999;                // of the same: sm_90a's code is for 9.0 alone
  const char* takes = nullptr;   // "bf16, heads of 64"
};

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
  std::size_t (*own_bytes)(Device* device) = nullptr;  // workspaces of any device, also of none

  /// In the order of the stream. `from` may be used again when upload returns.
  int (*upload)(Device* device, void* to, const void* from, std::size_t bytes) = nullptr;
  int (*download)(Device* device, void* to, const void* from,
                  std::size_t bytes) = nullptr;  // waits
  /// Host memory that send() copies from without a detour, aligned to 4096. Needs no open device,
  /// may outlive it, and is given back by any thread.
  int (*pin)(int index, std::size_t bytes, void** memory, char* why,
             std::size_t why_bytes) = nullptr;
  void (*unpin)(void* memory) = nullptr;
  /// Beside the stream, one after another: waits for event `after` where that was ever recorded,
  /// copies, and records `begun` and `sent` around the copy. `from` must stay until `sent`.
  int (*send)(Device* device, void* to, const void* from, std::size_t bytes, int after, int begun,
              int sent) = nullptr;
  /// What is issued to the stream from now on waits for the event, which was recorded.
  int (*await)(Device* device, int event) = nullptr;
  /// The same for an event of another library in this process: a cudaEvent_t.
  int (*await_other)(Device* device, void* event) = nullptr;
  /// One of ours for them, as a cudaEvent_t; null: never recorded.
  void* (*event)(Device* device, int event) = nullptr;
  /// Whether what was recorded has come; kHung when it has not within the limit (0: asks once).
  int (*reached)(Device* device, int event, double limit_seconds) = nullptr;
  /// Within the device, in the order of the stream.
  int (*copy)(Device* device, void* to, const void* from, std::size_t bytes) = nullptr;
  int (*multiply)(Device* device, const Product* product) = nullptr;
  int (*launch)(Device* device, const KernelCall* call) = nullptr;
  /// The algorithms of large products so far, a line each: with all that were offered. `text` gets
  /// what fits, ended by 0; what is needed with that 0 is returned.
  std::size_t (*choices)(Device* device, char* text, std::size_t bytes) = nullptr;
  /// What choices() gave in another process with the same kind of device, driver and `library`: not
  /// searched again. What does not fit is passed over.
  int (*offer_choices)(Device* device, const char* text) = nullptr;
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
  // One rank of several, each with a device of its own (or a share of one, where NCCL allows it).
  /// What rank 0 gives to all: `key` has kWorldKeyBytes. `library`: "NCCL 2.28.9".
  int (*world_key)(char* key, char* library, std::size_t library_bytes, char* why,
                   std::size_t why_bytes) = nullptr;
  /// All ranks together; kHung at the limit.
  int (*join_world)(Device* device, int rank, int size, const char* key,
                    double limit_seconds) = nullptr;
  /// Begins values = their sum over all ranks, when the stream has come so far, and beside what it
  /// does then. `begun` is recorded before it; -1: nothing is.
  int (*start_sum)(Device* device, float* values, std::size_t count, int begun) = nullptr;
  /// The stream waits for what was begun, after which `done` is recorded.
  int (*finish_sums)(Device* device, int done) = nullptr;
  /// Sums that wait for a rank which does not come end, and the device is free again; kHung when it
  /// is not within the limit. Graphs that hold sums are dropped before.
  int (*abandon_world)(Device* device, double limit_seconds) = nullptr;
  void (*push_range)(const char* name) = nullptr;  // NVTX
  void (*pop_range)() = nullptr;

  /// Everything that runs on any device of this process from now on is kept. Before graphs are
  /// made: what runs in one that is older may lack records. `ranges`: also who launched it, at a
  /// price for the host. kFailed and `why` where CUPTI is not there or serves another.
  int (*begin_trace)(bool ranges, char* why, std::size_t why_bytes) = nullptr;
  /// After synchronize(): gives what was kept, in no order, and keeps no more. Null sink: nobody.
  /// kDone and a `why` that is not empty: so many records were lost.
  int (*end_trace)(ActivitySink* sink, void* context, char* why, std::size_t why_bytes) = nullptr;

  /// What the hardware counts while `work` runs, a value for each name of CUPTI's
  /// ("dram__bytes_read.sum"). The work runs once for every pass that the names need together.
  /// kFailed and `why` where CUPTI or the driver does not let us.
  int (*count)(int index, const char* const* names, std::size_t number, CountedWork* work,
               void* context, double* values, char* why, std::size_t why_bytes) = nullptr;

  const KernelForm* forms = nullptr;  // every form of every kernel, the preferred one first
  int form_count = 0;
};

using TableFunction = const Table*();  // extern "C", the one symbol of the module

}  // namespace sluice::train::cuda
