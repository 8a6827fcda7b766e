// sluice/loader/gpu_module/table.cpp - the one symbol of libsluice_nvjpeg.so: the table of its
// functions.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/table.h"

#include "sluice/loader/gpu_module/line.h"

#include <cstdio>
#include <exception>
#include <string>

namespace sluice::loader::gpu {
namespace {

/// A call's result, whatever the host throws when it has no memory.
template <class Call>
int guarded(Line* line, Call call) noexcept {
  try {
    return call();
  } catch (const std::exception& error) {
    refuse(*line, "out of host memory: %s", error.what());
    return kOutOfMemory;
  }
}

int open_line(const LineOptions* options, Line** line, LineFacts* facts, char* why,
              std::size_t why_bytes) {
  try {
    return open(*options, line, facts, why, why_bytes);
  } catch (const std::exception& error) {
    std::snprintf(why, why_bytes, "out of host memory: %s", error.what());
    return kOutOfMemory;
  }
}

BatchBuffer& at(Line* line, int buffer) {
  return line->buffers[static_cast<std::size_t>(buffer)];
}

Table make_table(const char* built) {
  Table table;
  table.built = built;
  table.open = open_line;
  table.close = close;
  table.message = [](Line* line) -> const char* { return line->message; };
  table.own_bytes = [](Line* line) { return line->device_bytes; };
  table.pin = [](Line* line, std::size_t bytes, void** memory) {
    return pin(*line, bytes, memory);
  };
  table.unpin = [](void* memory) {
    static_cast<void>(cudaFreeHost(memory));
    static_cast<void>(cudaGetLastError());
  };
  table.set_levels = [](Line* line, const float* levels) { return set_levels(*line, levels); };
  table.decode = [](Line* line, int buffer, const Sample* samples, int count,
                    std::uint8_t* refused) {
    return guarded(line, [&] { return decode(*line, buffer, samples, count, refused); });
  };
  table.process = [](Line* line, int buffer, const Sample* samples, int count, Resample resample,
                     Augment augment, Output output, void* after) {
    return guarded(line, [&] {
      return process(*line, buffer, samples, count, resample, augment, output, after);
    });
  };
  table.wait = [](Line* line, int buffer, double limit_seconds) {
    return wait(*line, buffer, limit_seconds);
  };
  table.output = [](Line* line, int buffer) { return at(line, buffer).output.start; };
  table.ready = [](Line* line, int buffer) -> void* { return at(line, buffer).process_ran; };
  table.cropped = [](Line* line, int buffer) { return at(line, buffer).crops.start; };
  table.download = [](Line* line, void* to, const void* from, std::size_t bytes) {
    return download(*line, to, from, bytes);
  };
  table.decoded = [](Line* line, int buffer, int sample, std::uint8_t* to) {
    return decoded(*line, buffer, sample, to);
  };
  return table;
}

}  // namespace
}  // namespace sluice::loader::gpu

extern "C" __attribute__((visibility("default"))) const sluice::loader::gpu::Table*
sluice_nvjpeg_table() {
  static const std::string built = "CUDA " + std::to_string(CUDART_VERSION / 1000) + "." +
                                   std::to_string(CUDART_VERSION % 1000 / 10);
  static const sluice::loader::gpu::Table table = sluice::loader::gpu::make_table(built.c_str());
  return &table;
}
