// sluice/train/cuda_module/device.cpp - finds GPUs, opens one, gives memory, waits with a limit.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/device.h"

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <new>
#include <thread>

namespace sluice::train::cuda {
namespace {

/// The words of an error, as fail() writes them; the error is taken out of the runtime.
void describe(char* text, std::size_t bytes, const char* call, cudaError_t error) {
  std::snprintf(text, bytes, "%s: %s: %s", call, cudaGetErrorName(error),
                cudaGetErrorString(error));
  static_cast<void>(cudaGetLastError());
}

/// Asks again and again. A sleep ends up to 0.1 ms late, which a step of 20 ms would feel: it is
/// slept only until most of the last wait's time has passed, and when this one takes far longer.
template <class Query>
int wait(Device& device, const char* call, double limit_seconds, Query query) {
  using Clock = std::chrono::steady_clock;
  constexpr double kShort = 200e-6;  // seconds
  const Clock::time_point start = Clock::now();
  for (;;) {
    const cudaError_t state = query();
    const double waited = std::chrono::duration<double>(Clock::now() - start).count();
    if (state == cudaSuccess) {
      if (waited > kShort) device.last_wait = waited;
      return kDone;
    }
    if (state != cudaErrorNotReady) return fail(device, call, state);
    static_cast<void>(cudaGetLastError());  // "not ready" is kept as an error, too
    if (waited > limit_seconds) {
      device.hung = true;
      refuse(device, "%s: the device is still busy after %.1f s", call, limit_seconds);
      return kHung;
    }
    if (waited > kShort && (waited < 0.7 * device.last_wait || waited > 2 * device.last_wait + 0.1))
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

int open_parts(Device& device) {
  int major = 0, minor = 0;
  if (const cudaError_t error =
          cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.index))
    return fail(device, "cudaDeviceGetAttribute", error);
  if (const cudaError_t error =
          cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device.index))
    return fail(device, "cudaDeviceGetAttribute", error);
  if (major < 8)
    return refuse(device, "compute capability %d.%d; 8.0 and later are accepted", major, minor);
  // Which of the two built forms runs: sm_90a's is for 9.0 alone, what is later gets 8.0's PTX.
  device.launch.architecture = major == 9 && minor == 0 ? 90 : 80;
  if (const cudaError_t error = cudaDeviceGetAttribute(
          &device.launch.multiprocessors, cudaDevAttrMultiProcessorCount, device.index))
    return fail(device, "cudaDeviceGetAttribute", error);
  if (const cudaError_t error =
          cudaStreamCreateWithFlags(&device.launch.stream, cudaStreamNonBlocking))
    return fail(device, "cudaStreamCreate", error);
  if (const cudaError_t error = cudaStreamCreateWithFlags(&device.sends, cudaStreamNonBlocking))
    return fail(device, "cudaStreamCreate", error);
  if (const cudaError_t error = cudaMalloc(&device.launch.workspace, kWorkspaceBytes))
    return fail(device, "cudaMalloc of the workspace", error);
  device.launch.workspace_bytes = kWorkspaceBytes;
  if (const cudaError_t error = cudaMalloc(&device.product_workspace, kWorkspaceBytes))
    return fail(device, "cudaMalloc of cuBLASLt's workspace", error);
  if (const cublasStatus_t error = cublasLtCreate(&device.products))
    return fail(device, "cublasLtCreate", error);
  return device.staging.open(device);
}

}  // namespace

int fail(Device& device, const char* call, cudaError_t error) {
  describe(device.message, sizeof device.message, call, error);
  return error == cudaErrorMemoryAllocation ? kOutOfMemory : kFailed;
}

int fail(Device& device, const char* call, cublasStatus_t error) {
  std::snprintf(device.message, sizeof device.message, "%s: %s", call,
                cublasLtGetStatusName(error));
  static_cast<void>(cudaGetLastError());
  return error == CUBLAS_STATUS_ALLOC_FAILED ? kOutOfMemory : kFailed;
}

int refuse(Device& device, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(device.message, sizeof device.message, format, arguments);
  va_end(arguments);
  return kFailed;
}

int enter(Device& device) {
  if (const cudaError_t error = cudaSetDevice(device.index))
    return fail(device, "cudaSetDevice", error);
  return kDone;
}

int enter_uncaptured(Device& device, const char* call) {
  if (device.capturing) return refuse(device, "%s: not while calls are captured", call);
  return enter(device);
}

int wait_for_event(Device& device, cudaEvent_t event, double limit_seconds) {
  return wait(device, "cudaEventQuery", limit_seconds, [&] { return cudaEventQuery(event); });
}

int wait_for_stream(Device& device, double limit_seconds) {
  const int result = wait(device, "cudaStreamQuery", limit_seconds,
                          [&] { return cudaStreamQuery(device.launch.stream); });
  if (result == kDone) device.hung = false;
  return result;
}

int device_count(int* count, char* why, std::size_t why_bytes) {
  *count = 0;
  const cudaError_t error = cudaGetDeviceCount(count);
  if (error == cudaSuccess && *count > 0) return kDone;
  static_cast<void>(cudaGetLastError());
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = CUDART_VERSION;
  if (driver == 0)
    std::snprintf(why, why_bytes, "no CUDA driver is loaded");
  else if (error == cudaErrorInsufficientDriver)
    std::snprintf(why, why_bytes, "the driver is for CUDA %d.%d, this build is of CUDA %d.%d",
                  driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
  else if (error == cudaSuccess || error == cudaErrorNoDevice)
    std::snprintf(why, why_bytes,
                  "the CUDA driver sees no device (CUDA_VISIBLE_DEVICES may hide it)");
  else
    describe(why, why_bytes, "cudaGetDeviceCount", error);
  *count = 0;
  return kFailed;
}

int facts(int index, DeviceFacts* facts, char* why, std::size_t why_bytes) {
  *facts = {};
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, index)) {
    describe(why, why_bytes, "cudaGetDeviceProperties", error);
    return kFailed;
  }
  std::snprintf(facts->name, sizeof facts->name, "%.127s", properties.name);
  facts->major = properties.major;
  facts->minor = properties.minor;
  facts->multiprocessors = properties.multiProcessorCount;
  facts->l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  static_cast<void>(cudaDriverGetVersion(&facts->driver));
  static_cast<void>(cudaRuntimeGetVersion(&facts->runtime));
  cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess) error = cudaMemGetInfo(&facts->free_bytes, &facts->total_bytes);
  if (error != cudaSuccess) {
    describe(why, why_bytes, "cudaMemGetInfo", error);
    return kFailed;
  }
  return kDone;
}

int open(int index, Device** device, char* why, std::size_t why_bytes) {
  *device = nullptr;
  std::unique_ptr<Device> made(new (std::nothrow) Device);
  if (made == nullptr) {
    std::snprintf(why, why_bytes, "out of host memory");
    return kOutOfMemory;
  }
  made->index = index;
  int result = enter(*made);
  if (result == kDone) result = open_parts(*made);
  if (result != kDone) {
    std::snprintf(why, why_bytes, "%s", made->message);
    close(made.release());
    return result;
  }
  *device = made.release();
  return kDone;
}

void close(Device* device) {
  if (device == nullptr) return;
  const std::unique_ptr<Device> owned(device);
  if (enter(*device) != kDone) return;
  leave_world(*device);
  // Freeing waits for the device: of one that hangs, nothing is freed.
  if (device->hung && wait_for_stream(*device, 0) != kDone) return;
  if (device->sends != nullptr) static_cast<void>(cudaStreamSynchronize(device->sends));
  device->staging.close();
  for (const cudaEvent_t event : device->events)
    if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
  if (device->products != nullptr) static_cast<void>(cublasLtDestroy(device->products));
  static_cast<void>(cudaFree(device->product_workspace));
  static_cast<void>(cudaFree(device->launch.workspace));
  for (const cudaStream_t stream : {device->launch.stream, device->sends})
    if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
  static_cast<void>(cudaGetLastError());
}

int pin(int index, std::size_t bytes, void** memory, char* why, std::size_t why_bytes) {
  *memory = nullptr;
  cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess) error = cudaHostAlloc(memory, bytes, cudaHostAllocPortable);
  if (error == cudaSuccess) return kDone;
  *memory = nullptr;
  describe(why, why_bytes, "cudaHostAlloc", error);
  return error == cudaErrorMemoryAllocation ? kOutOfMemory : kFailed;
}

void unpin(void* memory) {
  static_cast<void>(cudaFreeHost(memory));  // waits for copies that still read it
  static_cast<void>(cudaGetLastError());
}

int allocate(Device& device, std::size_t bytes, void** memory) {
  *memory = nullptr;
  if (const int result = enter(device)) return result;
  const cudaError_t error = cudaMalloc(memory, bytes);
  if (error == cudaSuccess) return kDone;
  *memory = nullptr;
  const int result = fail(device, "cudaMalloc", error);
  std::size_t free_bytes = 0, total_bytes = 0;
  if (result == kOutOfMemory && cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess)
    refuse(device, "cudaMalloc: %s: %zu bytes asked for, %zu of %zu are free",
           cudaGetErrorName(error), bytes, free_bytes, total_bytes);
  return result;
}

void release(Device& device, void* memory) {
  if (memory == nullptr || enter(device) != kDone) return;
  if (device.hung && wait_for_stream(device, 0) != kDone) return;
  static_cast<void>(cudaFree(memory));
  static_cast<void>(cudaGetLastError());
}

}  // namespace sluice::train::cuda
