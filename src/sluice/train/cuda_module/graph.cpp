// sluice/train/cuda_module/graph.cpp - CUDA graphs by stream capture, numbered events, and what is
// ordered by them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/graph.h"

#include "sluice/train/cuda_module/device.h"

#include <memory>
#include <new>

namespace sluice::train::cuda {

struct Graph {
  cudaGraphExec_t runnable = nullptr;
};

int begin_capture(Device& device) {
  if (const int result = enter_uncaptured(device, "begin_capture")) return result;
  // Relaxed: what other threads allocate meanwhile is no concern of ours, and the first launch of a
  // kernel may load it.
  if (const cudaError_t error =
          cudaStreamBeginCapture(device.launch.stream, cudaStreamCaptureModeRelaxed))
    return fail(device, "cudaStreamBeginCapture", error);
  device.capturing = true;
  return kDone;
}

int end_capture(Device& device, Graph** graph) {
  *graph = nullptr;
  if (!device.capturing) return refuse(device, "end_capture: nothing is being captured");
  device.capturing = false;
  if (const int result = enter(device)) return result;
  cudaGraph_t captured = nullptr;
  cudaError_t error = cudaStreamEndCapture(device.launch.stream, &captured);
  if (error != cudaSuccess) return fail(device, "cudaStreamEndCapture", error);
  std::unique_ptr<Graph> made(new (std::nothrow) Graph);
  if (made == nullptr) {
    static_cast<void>(cudaGraphDestroy(captured));
    refuse(device, "end_capture: out of host memory");
    return kOutOfMemory;
  }
  error = cudaGraphInstantiate(&made->runnable, captured, 0);
  static_cast<void>(cudaGraphDestroy(captured));
  if (error != cudaSuccess) return fail(device, "cudaGraphInstantiate", error);
  error = cudaGraphUpload(made->runnable, device.launch.stream);
  if (error != cudaSuccess) {
    static_cast<void>(cudaGraphExecDestroy(made->runnable));
    return fail(device, "cudaGraphUpload", error);
  }
  *graph = made.release();
  return kDone;
}

int run_graph(Device& device, Graph& graph) {
  if (const int result = enter_uncaptured(device, "run_graph")) return result;
  if (const cudaError_t error = cudaGraphLaunch(graph.runnable, device.launch.stream))
    return fail(device, "cudaGraphLaunch", error);
  return kDone;
}

void drop_graph(Device& device, Graph* graph) {
  if (graph == nullptr) return;
  const std::unique_ptr<Graph> owned(graph);
  if (enter(device) != kDone) return;
  static_cast<void>(cudaGraphExecDestroy(graph->runnable));
  static_cast<void>(cudaGetLastError());
}

namespace {

/// Null: never recorded.
cudaEvent_t recorded(const Device& device, int event) {
  const auto at = static_cast<std::size_t>(event);
  return event < 0 || at >= device.events.size() ? nullptr : device.events[at];
}

int make_event(Device& device, int event) {
  if (event < 0) return refuse(device, "record: event %d; 0 and above are accepted", event);
  const auto at = static_cast<std::size_t>(event);
  try {
    if (at >= device.events.size()) device.events.resize(at + 1, nullptr);
  } catch (const std::exception&) {
    refuse(device, "record: out of host memory");
    return kOutOfMemory;
  }
  if (device.events[at] == nullptr)
    if (const cudaError_t error = cudaEventCreate(&device.events[at])) {
      device.events[at] = nullptr;
      return fail(device, "cudaEventCreate", error);
    }
  return kDone;
}

}  // namespace

int record(Device& device, int event) {
  return record_on(device, event, device.launch.stream);
}

int record_on(Device& device, int event, cudaStream_t stream) {
  if (const int result = enter(device)) return result;
  if (const int result = make_event(device, event)) return result;
  const auto at = static_cast<std::size_t>(event);
  // A plain record inside a capture only orders the capture; an external one is a node of the
  // graph.
  if (const cudaError_t error = cudaEventRecordWithFlags(
          device.events[at], stream,
          device.capturing ? cudaEventRecordExternal : cudaEventRecordDefault))
    return fail(device, "cudaEventRecord", error);
  return kDone;
}

int elapsed(Device& device, int from, int to, double* nanoseconds) {
  *nanoseconds = 0;
  if (const int result = enter_uncaptured(device, "elapsed")) return result;
  for (const int event : {from, to})
    if (recorded(device, event) == nullptr)
      return refuse(device, "elapsed: event %d was never recorded", event);
  const cudaEvent_t first = recorded(device, from), last = recorded(device, to);
  for (const cudaEvent_t event : {first, last})
    if (const int result = wait_for_event(device, event, kLongestWait)) return result;
  float milliseconds = 0;
  if (const cudaError_t error = cudaEventElapsedTime(&milliseconds, first, last))
    return fail(device, "cudaEventElapsedTime", error);
  *nanoseconds = static_cast<double>(milliseconds) * 1e6;
  return kDone;
}

int send(Device& device, void* to, const void* from, std::size_t bytes, int after, int begun,
         int sent) {
  if (const int result = enter_uncaptured(device, "send")) return result;
  for (const int event : {begun, sent})
    if (const int result = make_event(device, event)) return result;
  cudaError_t error = cudaSuccess;
  if (const cudaEvent_t wait = recorded(device, after))
    error = cudaStreamWaitEvent(device.sends, wait, 0);
  if (error == cudaSuccess) error = cudaEventRecord(recorded(device, begun), device.sends);
  if (error == cudaSuccess)
    error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, device.sends);
  if (error == cudaSuccess) error = cudaEventRecord(recorded(device, sent), device.sends);
  return error == cudaSuccess ? int{kDone} : fail(device, "send", error);
}

int await(Device& device, int event) {
  if (const int result = enter_uncaptured(device, "await")) return result;
  const cudaEvent_t come = recorded(device, event);
  if (come == nullptr) return refuse(device, "await: event %d was never recorded", event);
  if (const cudaError_t error = cudaStreamWaitEvent(device.launch.stream, come, 0))
    return fail(device, "cudaStreamWaitEvent", error);
  return kDone;
}

int await_other(Device& device, void* event) {
  if (const int result = enter_uncaptured(device, "await_other")) return result;
  if (const cudaError_t error =
          cudaStreamWaitEvent(device.launch.stream, static_cast<cudaEvent_t>(event), 0))
    return fail(device, "cudaStreamWaitEvent", error);
  return kDone;
}

void* event_of(Device& device, int event) {
  return recorded(device, event);
}

int reached(Device& device, int event, double limit_seconds) {
  if (const int result = enter_uncaptured(device, "reached")) return result;
  const cudaEvent_t come = recorded(device, event);
  if (come == nullptr) return refuse(device, "reached: event %d was never recorded", event);
  if (limit_seconds > 0) return wait_for_event(device, come, limit_seconds);
  const cudaError_t state = cudaEventQuery(come);
  if (state == cudaSuccess) return kDone;
  if (state != cudaErrorNotReady) return fail(device, "cudaEventQuery", state);
  static_cast<void>(cudaGetLastError());
  return kHung;
}

}  // namespace sluice::train::cuda
