// sluice/train/cuda_module/table.cpp - the one symbol of libsluice_cuda.so: the table of its
// functions.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/table.h"

#include "sluice/train/cuda_module/counters.h"
#include "sluice/train/cuda_module/device.h"
#include "sluice/train/cuda_module/forms.h"
#include "sluice/train/cuda_module/graph.h"
#include "sluice/train/cuda_module/products.h"
#include "sluice/train/cuda_module/ranks.h"
#include "sluice/train/cuda_module/trace.h"

#include <nvtx3/nvToolsExt.h>

#include <exception>
#include <span>
#include <string>

namespace sluice::train::cuda {
namespace {

/// A call's result, whatever the host throws when it has no memory.
template <class Call>
int guarded(Device& device, Call call) noexcept {
  try {
    return call();
  } catch (const std::exception& error) {
    refuse(device, "out of host memory: %s", error.what());
    return kOutOfMemory;
  }
}

int launch_call(Device* device, const KernelCall* call) {
  if (const int result = enter(*device)) return result;
  const cudaError_t error =
      std::visit([&](const auto& record) { return launch(record, device->launch); }, *call);
  return error == cudaSuccess ? int{kDone} : fail(*device, kKernelNames.at(call->index()), error);
}

int upload(Device* device, void* to, const void* from, std::size_t bytes) {
  if (const int result = enter_uncaptured(*device, "upload")) return result;
  return guarded(*device, [&] { return device->staging.upload(*device, to, from, bytes); });
}

int download(Device* device, void* to, const void* from, std::size_t bytes) {
  if (const int result = enter_uncaptured(*device, "download")) return result;
  return device->staging.download(*device, to, from, bytes);
}

int copy(Device* device, void* to, const void* from, std::size_t bytes) {
  if (const int result = enter(*device)) return result;
  const cudaError_t error =
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, device->launch.stream);
  return error == cudaSuccess ? int{kDone} : fail(*device, "cudaMemcpyAsync", error);
}

int synchronize(Device* device, double limit_seconds) {
  if (const int result = enter_uncaptured(*device, "synchronize")) return result;
  return wait_for_stream(*device, limit_seconds);
}

std::size_t choices_text(Device* device, char* text, std::size_t bytes) {
  std::size_t needed = 0;
  guarded(*device, [&] {
    const std::string all = choices(*device);
    needed = all.size() + 1;
    if (bytes > 0) text[all.copy(text, bytes - 1)] = '\0';
    return int{kDone};
  });
  return needed;
}

std::string versions() {
  const std::size_t lt = cublasLtGetVersion();  // of the library that was loaded
  return "CUDA " + std::to_string(CUDART_VERSION / 1000) + "." +
         std::to_string(CUDART_VERSION % 1000 / 10) + ", cuBLASLt " + std::to_string(lt / 10000) +
         "." + std::to_string(lt % 10000 / 100) + "." + std::to_string(lt % 100);
}

Table make_table(const char* library) {
  Table table;
  table.library = library;
  table.device_count = device_count;
  table.facts = facts;
  table.open = open;
  table.close = close;
  table.message = [](Device* device) -> const char* { return device->message; };
  table.allocate = [](Device* device, std::size_t bytes, void** memory) {
    return allocate(*device, bytes, memory);
  };
  table.release = [](Device* device, void* memory) { release(*device, memory); };
  table.own_bytes = [](Device*) { return 2 * kWorkspaceBytes; };
  table.upload = upload;
  table.download = download;
  table.pin = pin;
  table.unpin = unpin;
  table.send = [](Device* device, void* to, const void* from, std::size_t bytes, int after,
                  int begun, int sent) {
    return guarded(*device, [&] { return send(*device, to, from, bytes, after, begun, sent); });
  };
  table.await = [](Device* device, int event) { return await(*device, event); };
  table.await_other = [](Device* device, void* event) { return await_other(*device, event); };
  table.event = [](Device* device, int event) { return event_of(*device, event); };
  table.reached = [](Device* device, int event, double limit_seconds) {
    return reached(*device, event, limit_seconds);
  };
  table.copy = copy;
  table.multiply = [](Device* device, const Product* product) {
    return guarded(*device, [&] { return multiply(*device, *product); });
  };
  table.launch = launch_call;
  table.choices = choices_text;
  table.offer_choices = [](Device* device, const char* text) {
    return guarded(*device, [&] {
      offer_choices(*device, text);
      return int{kDone};
    });
  };
  table.synchronize = synchronize;
  table.begin_capture = [](Device* device) { return begin_capture(*device); };
  table.end_capture = [](Device* device, Graph** graph) { return end_capture(*device, graph); };
  table.run_graph = [](Device* device, Graph* graph) { return run_graph(*device, *graph); };
  table.drop_graph = [](Device* device, Graph* graph) { drop_graph(*device, graph); };
  table.record = [](Device* device, int event) { return record(*device, event); };
  table.elapsed = [](Device* device, int from, int to, double* nanoseconds) {
    return elapsed(*device, from, to, nanoseconds);
  };
  table.world_key = world_key;
  table.join_world = [](Device* device, int rank, int size, const char* key, double limit) {
    return guarded(*device, [&] { return join_world(*device, rank, size, key, limit); });
  };
  table.start_sum = [](Device* device, float* values, std::size_t count, int begun) {
    return guarded(*device, [&] { return start_sum(*device, values, count, begun); });
  };
  table.finish_sums = [](Device* device, int done) {
    return guarded(*device, [&] { return finish_sums(*device, done); });
  };
  table.abandon_world = [](Device* device, double limit) {
    return guarded(*device, [&] { return abandon_world(*device, limit); });
  };
  table.push_range = [](const char* name) {
    nvtxRangePushA(name);
    trace_push(name);
  };
  table.pop_range = [] {
    trace_pop();
    nvtxRangePop();
  };
  table.begin_trace = begin_trace;
  table.end_trace = end_trace;
  table.count = count;
  const std::span<const KernelForm> forms = kernel_forms();
  table.forms = forms.data();
  table.form_count = static_cast<int>(forms.size());
  return table;
}

}  // namespace
}  // namespace sluice::train::cuda

extern "C" __attribute__((visibility("default"))) const sluice::train::cuda::Table*
sluice_cuda_table() {
  static const std::string library = sluice::train::cuda::versions();
  static const sluice::train::cuda::Table table = sluice::train::cuda::make_table(library.c_str());
  return &table;
}
