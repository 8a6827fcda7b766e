// sluice/train/cuda_module/ranks.cpp - the few entry points of NCCL that we call, declared here and
// loaded from where the host has them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/ranks.h"

#include "sluice/train/cuda_module/device.h"
#include "sluice/train/cuda_module/graph.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace sluice::train::cuda {
namespace {

static_assert(kWorldKeyBytes == 128, "NCCL_UNIQUE_ID_BYTES");
struct UniqueId {
  char bytes[kWorldKeyBytes];
};
constexpr int kFloat = 7, kSum = 0, kHostScalar = 1;  // ncclFloat32, ncclSum, HostImmediate

/// NCCL's functions; a code other than 0 is an error.
struct Nccl {
  int (*ncclGetVersion)(int* version);
  int (*ncclGetUniqueId)(UniqueId* id);
  int (*ncclCommInitRank)(void** group, int size, UniqueId id, int rank);
  int (*ncclCommDestroy)(void* group);
  int (*ncclCommAbort)(void* group);
  int (*ncclAllReduce)(const void* from, void* to, std::size_t count, int type, int operation,
                       void* group, cudaStream_t stream);
  int (*ncclRedOpCreatePreMulSum)(int* operation, void* scalar, int type, int residence,
                                  void* group);
  const char* (*ncclGetErrorString)(int code);
  const char* (*ncclGetLastError)(void* group);
  char missing[256];  // empty: all are there
  char name[64];      // "NCCL 2.28.9"
};

Nccl load() {
  Nccl nccl{};
  // Installed packages put it where the loader looks; those of Python keep it in their own folders.
  const char* own = std::getenv("SLUICE_NCCL");
  const char* file = own != nullptr && *own != '\0' ? own : "libnccl.so.2";
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::snprintf(nccl.missing, sizeof nccl.missing,
                  "NCCL: %.160s; SLUICE_NCCL names the file libnccl.so.2", dlerror());
    return nccl;
  }
  const auto find = [&](auto& function, const char* name) {
    void* symbol = dlsym(library, name);
    std::memcpy(&function, &symbol, sizeof symbol);
    if (symbol == nullptr && nccl.missing[0] == '\0')
      std::snprintf(nccl.missing, sizeof nccl.missing, "NCCL: %.160s has no %s", file, name);
  };
  find(nccl.ncclGetVersion, "ncclGetVersion");
  find(nccl.ncclGetUniqueId, "ncclGetUniqueId");
  find(nccl.ncclCommInitRank, "ncclCommInitRank");
  find(nccl.ncclCommDestroy, "ncclCommDestroy");
  find(nccl.ncclCommAbort, "ncclCommAbort");
  find(nccl.ncclAllReduce, "ncclAllReduce");
  find(nccl.ncclRedOpCreatePreMulSum, "ncclRedOpCreatePreMulSum");
  find(nccl.ncclGetErrorString, "ncclGetErrorString");
  find(nccl.ncclGetLastError, "ncclGetLastError");
  if (nccl.missing[0] != '\0') return nccl;
  int version = 0;
  nccl.ncclGetVersion(&version);
  std::snprintf(nccl.name, sizeof nccl.name, "NCCL %d.%d.%d", version / 10000,
                version % 10000 / 100, version % 100);
  return nccl;
}

const Nccl& nccl() {
  static const Nccl loaded = load();
  return loaded;
}

int fail_nccl(Device& device, const char* call, int code) {
  const char* more = nccl().ncclGetLastError(nullptr);
  return refuse(device, "%s: %s%s%.200s", call, nccl().ncclGetErrorString(code),
                more != nullptr && *more != '\0' ? ": " : "", more != nullptr ? more : "");
}

/// NCCL waits for every rank without a limit: it does so in a thread that is left behind when one
/// does not come. The process is to end then.
int begin_group(Device& device, int rank, int size, const UniqueId& id, double limit_seconds) {
  struct Begun {
    std::promise<int> code;
    void* group = nullptr;
  };
  const auto begun = std::make_shared<Begun>();
  std::future<int> code = begun->code.get_future();
  std::thread([begun, index = device.index, rank, size, id] {
    if (cudaSetDevice(index) != cudaSuccess) return begun->code.set_value(1);
    begun->code.set_value(nccl().ncclCommInitRank(&begun->group, size, id, rank));
  }).detach();
  if (code.wait_for(std::chrono::duration<double>(limit_seconds)) != std::future_status::ready) {
    refuse(device, "ncclCommInitRank: not all of %d ranks came within %g s", size, limit_seconds);
    return kHung;
  }
  if (const int wrong = code.get()) return fail_nccl(device, "ncclCommInitRank", wrong);
  device.ranks.group = begun->group;
  return kDone;
}

}  // namespace

int world_key(char* key, char* library, std::size_t library_bytes, char* why,
              std::size_t why_bytes) {
  if (nccl().missing[0] != '\0') {
    std::snprintf(why, why_bytes, "%s", nccl().missing);
    return kFailed;
  }
  std::snprintf(library, library_bytes, "%s", nccl().name);
  UniqueId id{};
  if (const int code = nccl().ncclGetUniqueId(&id)) {
    std::snprintf(why, why_bytes, "ncclGetUniqueId: %s", nccl().ncclGetErrorString(code));
    return kFailed;
  }
  std::memcpy(key, id.bytes, sizeof id.bytes);
  return kDone;
}

int join_world(Device& device, int rank, int size, const char* key, double limit_seconds) {
  if (const int result = enter_uncaptured(device, "join_world")) return result;
  if (nccl().missing[0] != '\0') return refuse(device, "%s", nccl().missing);
  if (device.ranks.group != nullptr) return refuse(device, "join_world: it is of a world already");
  UniqueId id{};
  std::memcpy(id.bytes, key, sizeof id.bytes);
  if (const int result = begin_group(device, rank, size, id, limit_seconds)) return result;
  Ranks& ranks = device.ranks;
  ranks.size = size;
  ranks.operation = kSum;
  // A sum over one rank would be nothing at all; a factor of 1 has it read and written as with
  // several.
  float one = 1;
  if (size == 1)
    if (const int code = nccl().ncclRedOpCreatePreMulSum(&ranks.operation, &one, kFloat,
                                                         kHostScalar, ranks.group))
      return fail_nccl(device, "ncclRedOpCreatePreMulSum", code);
  // First in line where both have work: what is late here, every rank waits for.
  int least = 0, greatest = 0;
  if (const cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest))
    return fail(device, "cudaDeviceGetStreamPriorityRange", error);
  if (const cudaError_t error =
          cudaStreamCreateWithPriority(&ranks.sums, cudaStreamNonBlocking, greatest))
    return fail(device, "cudaStreamCreate", error);
  for (cudaEvent_t* event : {&ranks.fork, &ranks.join})
    if (const cudaError_t error = cudaEventCreateWithFlags(event, cudaEventDisableTiming))
      return fail(device, "cudaEventCreate", error);
  return kDone;
}

int start_sum(Device& device, float* values, std::size_t count, int begun) {
  if (const int result = enter(device)) return result;
  Ranks& ranks = device.ranks;
  if (ranks.group == nullptr) return refuse(device, "start_sum: it is of no world");
  cudaError_t error = cudaEventRecord(ranks.fork, device.launch.stream);
  if (error == cudaSuccess) error = cudaStreamWaitEvent(ranks.sums, ranks.fork, 0);
  if (error != cudaSuccess) return fail(device, "start_sum", error);
  if (begun >= 0)
    if (const int result = record_on(device, begun, ranks.sums)) return result;
  if (const int code = nccl().ncclAllReduce(values, values, count, kFloat, ranks.operation,
                                            ranks.group, ranks.sums))
    return fail_nccl(device, "ncclAllReduce", code);
  return kDone;
}

int finish_sums(Device& device, int done) {
  if (const int result = enter(device)) return result;
  Ranks& ranks = device.ranks;
  if (ranks.group == nullptr) return refuse(device, "finish_sums: it is of no world");
  if (const int result = record_on(device, done, ranks.sums)) return result;
  cudaError_t error = cudaEventRecord(ranks.join, ranks.sums);
  if (error == cudaSuccess) error = cudaStreamWaitEvent(device.launch.stream, ranks.join, 0);
  return error == cudaSuccess ? int{kDone} : fail(device, "finish_sums", error);
}

/// In a thread as begin_group(): should NCCL wait once more, it does so alone.
int abandon_world(Device& device, double limit_seconds) {
  if (const int result = enter_uncaptured(device, "abandon_world")) return result;
  void* const group = std::exchange(device.ranks.group, nullptr);
  if (group == nullptr) return kDone;
  device.hung = true;  // until the stream says otherwise
  const auto ended = std::make_shared<std::promise<void>>();
  std::future<void> end = ended->get_future();
  std::thread([ended, index = device.index, group] {
    if (cudaSetDevice(index) == cudaSuccess) static_cast<void>(nccl().ncclCommAbort(group));
    ended->set_value();
  }).detach();
  if (end.wait_for(std::chrono::duration<double>(limit_seconds)) != std::future_status::ready) {
    refuse(device, "ncclCommAbort: did not end within %g s", limit_seconds);
    return kHung;
  }
  return wait_for_stream(device, limit_seconds);
}

void leave_world(Device& device) {
  Ranks& ranks = device.ranks;
  // Of ranks that do not come, abort ends the kernels that wait for them; destroy would wait, too.
  if (ranks.group != nullptr)
    static_cast<void>(device.hung ? nccl().ncclCommAbort(ranks.group)
                                  : nccl().ncclCommDestroy(ranks.group));
  for (const cudaEvent_t event : {ranks.fork, ranks.join})
    if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
  if (ranks.sums != nullptr) static_cast<void>(cudaStreamDestroy(ranks.sums));
  ranks = {};
}

}  // namespace sluice::train::cuda
