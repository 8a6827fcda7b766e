// sluice/loader/gpu_module/line.cpp - opens a GPU and nvJPEG on it, gives memory, waits with a
// limit.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu_module/line.h"

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

namespace sluice::loader::gpu {
namespace {

int open_decoder(Line& line, LineFacts& facts) {
  for (int i = 0; i < 3; ++i)
    static_cast<void>(line.call.GetProperty(i, &facts.version[i]));
  const unsigned flags =
      nvjpeg::kInterpolate | (line.options.shared ? nvjpeg::kWithoutPipeline : 0U);
  int status = line.call.CreateEx(nvjpeg::kBackendHardware, nullptr, nullptr, flags, &line.decoder);
  unsigned engines = 0, cores = 0;
  if (status == nvjpeg::kSuccess &&
      (line.call.GetHardwareDecoderInfo(line.decoder, &engines, &cores) != nvjpeg::kSuccess ||
       engines == 0)) {
    static_cast<void>(line.call.Destroy(line.decoder));
    line.decoder = nullptr;
    engines = 0;
  }
  static_cast<void>(cudaGetLastError());
  if (line.decoder == nullptr)
    status = line.call.CreateEx(nvjpeg::kBackendGpuHybrid, nullptr, nullptr, nvjpeg::kInterpolate,
                                &line.decoder);
  if (status == nvjpeg::kSuccess) status = line.call.JpegStateCreate(line.decoder, &line.state);
  if (status == nvjpeg::kSuccess) status = line.call.JpegStateCreate(line.decoder, &line.single);
  if (status == nvjpeg::kSuccess)
    status =
        line.call.DecodeBatchedInitialize(line.decoder, line.single, 1, 1, nvjpeg::kOutputRgbi);
  if (status != nvjpeg::kSuccess)
    return refuse(line, "nvJPEG has no decoder for this device: %s", nvjpeg::status_name(status));
  facts.engines = static_cast<int>(engines);
  return kDone;
}

int open_buffer(Line& line, BatchBuffer& buffer) {
  const auto samples = static_cast<std::size_t>(line.options.most_samples);
  void* memory = nullptr;
  const auto on_device = [&](std::size_t bytes) {
    line.device_bytes += bytes;
    return cudaMalloc(&memory, bytes);
  };
  if (const cudaError_t error = on_device(samples * sizeof(DeviceSample)))
    return fail(line, "cudaMalloc", error);
  buffer.samples = static_cast<DeviceSample*>(memory);
  if (const cudaError_t error = on_device(samples * sizeof *buffer.sums))
    return fail(line, "cudaMalloc", error);
  buffer.sums = static_cast<unsigned long long*>(memory);
  if (const cudaError_t error =
          cudaHostAlloc(&memory, samples * sizeof(DeviceSample), cudaHostAllocDefault))
    return fail(line, "cudaHostAlloc", error);
  buffer.staged = static_cast<DeviceSample*>(memory);
  for (cudaEvent_t* event : {&buffer.decode_ran, &buffer.process_ran})
    if (const cudaError_t error = cudaEventCreateWithFlags(event, cudaEventDisableTiming))
      return fail(line, "cudaEventCreate", error);
  return kDone;
}

int open_parts(Line& line, LineFacts& facts) {
  const LineOptions& options = line.options;
  if (options.side < 1 || options.side > 4096 || options.most_samples < 1 ||
      options.most_samples > 65535 || options.buffers < 1 || options.buffers > 64)
    return refuse(line, "sides of 1 to 4096, 1 to 65535 samples and 1 to 64 buffers are accepted");
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return refuse(line, "no CUDA driver is loaded");
  if (const int result = enter(line)) return result;
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, options.device))
    return fail(line, "cudaGetDeviceProperties", error);
  std::snprintf(facts.device, sizeof facts.device, "%.127s", properties.name);
  if (properties.major < 8)
    return refuse(line, "compute capability %d.%d; 8.0 and later are accepted", properties.major,
                  properties.minor);
  char why[256] = "";
  if (!nvjpeg::load(options.library, line.call, facts.library, sizeof facts.library, why,
                    sizeof why))
    return refuse(line, "%s", why);
  // Before the kernels of a training, which fill the device for milliseconds: ours take little.
  int lowest = 0, highest = 0;
  if (const cudaError_t error = cudaDeviceGetStreamPriorityRange(&lowest, &highest))
    return fail(line, "cudaDeviceGetStreamPriorityRange", error);
  for (cudaStream_t* stream : {&line.decoding, &line.working})
    if (const cudaError_t error =
            cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, highest))
      return fail(line, "cudaStreamCreate", error);
  void* memory = nullptr;
  if (const cudaError_t error = cudaMalloc(&memory, 3 * 256 * sizeof(float)))
    return fail(line, "cudaMalloc", error);
  line.levels = static_cast<float*>(memory);
  line.buffers.resize(static_cast<std::size_t>(options.buffers));
  for (BatchBuffer& buffer : line.buffers)
    if (const int result = open_buffer(line, buffer)) return result;
  return open_decoder(line, facts);
}

}  // namespace

int fail(Line& line, const char* call, cudaError_t error) {
  std::snprintf(line.message, sizeof line.message, "%s: %s: %s", call, cudaGetErrorName(error),
                cudaGetErrorString(error));
  static_cast<void>(cudaGetLastError());
  return error == cudaErrorMemoryAllocation ? kOutOfMemory : kFailed;
}

int refuse(Line& line, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line.message, sizeof line.message, format, arguments);
  va_end(arguments);
  return kFailed;
}

int enter(Line& line) {
  if (const cudaError_t error = cudaSetDevice(line.options.device))
    return fail(line, "cudaSetDevice", error);
  return kDone;
}

int reserve(Line& line, DeviceMemory& memory, std::size_t bytes) {
  if (bytes <= memory.bytes) return kDone;
  static_cast<void>(cudaFree(memory.start));  // waits for whoever uses it
  line.device_bytes -= memory.bytes;
  memory = {};
  bytes += bytes / 8;  // sizes of batches scatter
  if (const cudaError_t error = cudaMalloc(&memory.start, bytes)) {
    memory.start = nullptr;
    return fail(line, "cudaMalloc", error);
  }
  memory.bytes = bytes;
  line.device_bytes += bytes;
  return kDone;
}

int wait_for(Line& line, cudaEvent_t event, double limit_seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr double kShort = 200e-6;  // seconds; a sleep may end 0.1 ms late
  const Clock::time_point start = Clock::now();
  for (;;) {
    const cudaError_t state = cudaEventQuery(event);
    if (state == cudaSuccess) return kDone;
    if (state != cudaErrorNotReady) return fail(line, "cudaEventQuery", state);
    static_cast<void>(cudaGetLastError());  // "not ready" is kept as an error, too
    const double waited = std::chrono::duration<double>(Clock::now() - start).count();
    if (waited > limit_seconds) {
      line.hung = true;
      refuse(line, "the device is still busy after %.1f s", limit_seconds);
      return kHung;
    }
    if (waited > kShort) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

int open(const LineOptions& options, Line** line, LineFacts* facts, char* why,
         std::size_t why_bytes) {
  *line = nullptr;
  *facts = {};
  std::unique_ptr<Line> made(new (std::nothrow) Line);
  if (made == nullptr) {
    std::snprintf(why, why_bytes, "out of host memory");
    return kOutOfMemory;
  }
  made->options = options;
  if (const int result = open_parts(*made, *facts)) {
    std::snprintf(why, why_bytes, "%s", made->message);
    close(made.release());
    return result;
  }
  *line = made.release();
  return kDone;
}

void close(Line* line) {
  if (line == nullptr) return;
  const std::unique_ptr<Line> owned(line);
  if (line->hung || enter(*line) != kDone) return;  // freeing waits for the device
  if (line->decoding != nullptr) static_cast<void>(cudaStreamSynchronize(line->decoding));
  if (line->working != nullptr) static_cast<void>(cudaStreamSynchronize(line->working));
  for (nvjpeg::State* state : {line->state, line->single})
    if (state != nullptr) static_cast<void>(line->call.JpegStateDestroy(state));
  if (line->decoder != nullptr) static_cast<void>(line->call.Destroy(line->decoder));
  for (BatchBuffer& buffer : line->buffers) {
    for (const DeviceMemory* memory :
         {&buffer.decoded, &buffer.crops, &buffer.output, &buffer.scratch})
      static_cast<void>(cudaFree(memory->start));
    static_cast<void>(cudaFree(buffer.samples));
    static_cast<void>(cudaFree(buffer.sums));
    static_cast<void>(cudaFreeHost(buffer.staged));
    for (const cudaEvent_t event : {buffer.decode_ran, buffer.process_ran})
      if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
  }
  static_cast<void>(cudaFree(line->levels));
  for (const cudaStream_t stream : {line->decoding, line->working})
    if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
  static_cast<void>(cudaGetLastError());
}

int pin(Line& line, std::size_t bytes, void** memory) {
  if (const int result = enter(line)) return result;
  if (const cudaError_t error = cudaHostAlloc(memory, bytes, cudaHostAllocPortable))
    return fail(line, "cudaHostAlloc", error);
  return kDone;
}

int set_levels(Line& line, const float* levels) {
  if (const int result = enter(line)) return result;
  if (const cudaError_t error =
          cudaMemcpy(line.levels, levels, 3 * 256 * sizeof(float), cudaMemcpyHostToDevice))
    return fail(line, "cudaMemcpy", error);
  line.has_levels = true;
  return kDone;
}

}  // namespace sluice::loader::gpu
