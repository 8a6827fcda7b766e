// sluice/train/cuda_module/trace_absent.cpp - tracing where the toolkit came without CUPTI's
// headers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/trace.h"

#include <cstdio>

namespace sluice::train::cuda {

int begin_trace(bool /*ranges*/, char* why, std::size_t why_bytes) {
  std::snprintf(why, why_bytes, "libsluice_cuda.so was built without CUPTI's headers");
  return kFailed;
}
int end_trace(ActivitySink* /*sink*/, void* /*context*/, char* why, std::size_t why_bytes) {
  return begin_trace(false, why, why_bytes);
}
void trace_push(const char* /*range*/) {}
void trace_pop() {}

}  // namespace sluice::train::cuda
