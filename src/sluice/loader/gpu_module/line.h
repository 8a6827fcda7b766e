// sluice/loader/gpu_module/line.h - what the module keeps for an open GPU: decoder, streams,
// buffers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/gpu/table.h"
#include "sluice/loader/gpu_module/kernels.h"
#include "sluice/loader/gpu_module/nvjpeg_abi.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::loader::gpu {

/// Memory on the device that only grows.
struct DeviceMemory {
  void* start = nullptr;
  std::size_t bytes = 0;
};

/// One batch on its way.
struct BatchBuffer {
  DeviceMemory decoded, crops, output, scratch;
  DeviceSample* samples = nullptr;  // on the device
  DeviceSample* staged = nullptr;   // the same, pinned
  unsigned long long* sums = nullptr;
  cudaEvent_t decode_ran = nullptr, process_ran = nullptr;
  std::vector<std::size_t> places;   // of decoded images
  std::vector<int> widths, heights;  // of what was decoded; 0: was not
};

struct Line {
  LineOptions options;
  nvjpeg::Functions call{};
  nvjpeg::Handle* decoder = nullptr;
  nvjpeg::State* state = nullptr;   // of whole batches
  nvjpeg::State* single = nullptr;  // of batches of one, to find whose fault it is
  int initialised = 0;              // images that `state` expects
  cudaStream_t decoding = nullptr, working = nullptr;
  float* levels = nullptr;  // [3, 256]
  bool has_levels = false;
  bool hung = false;
  std::vector<BatchBuffer> buffers;
  // Arguments of nvJPEG, kept for their memory.
  std::vector<const unsigned char*> data;
  std::vector<std::size_t> lengths;
  std::vector<nvjpeg::Image> images;
  std::vector<int> numbers;  // of the samples they are
  std::size_t device_bytes = 0;
  char message[512] = "";
};

// Functions of the table, see table.h.
int open(const LineOptions& options, Line** line, LineFacts* facts, char* why,
         std::size_t why_bytes);
void close(Line* line);
int pin(Line& line, std::size_t bytes, void** memory);
int set_levels(Line& line, const float* levels);
int decode(Line& line, int buffer, const Sample* samples, int count, std::uint8_t* refused);
int process(Line& line, int buffer, const Sample* samples, int count, Resample resample,
            Augment augment, Output output, void* after);
int wait(Line& line, int buffer, double limit_seconds);
int download(Line& line, void* to, const void* from, std::size_t bytes);
int decoded(Line& line, int buffer, int sample, std::uint8_t* to);

/// Keeps "call: NAME: text" as the line's message and takes the error out of the runtime.
int fail(Line& line, const char* call, cudaError_t error);
__attribute__((format(printf, 2, 3))) int refuse(Line& line, const char* format, ...);
int enter(Line& line);  // makes the device current: the first thing of every call
int reserve(Line& line, DeviceMemory& memory, std::size_t bytes);
int wait_for(Line& line, cudaEvent_t event, double limit_seconds);

}  // namespace sluice::loader::gpu
