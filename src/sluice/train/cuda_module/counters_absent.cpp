// sluice/train/cuda_module/counters_absent.cpp - counting where the toolkit came without the
// headers of CUPTI's range profiler (12.6 and later have them).
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/counters.h"

#include <cstdio>

namespace sluice::train::cuda {

int count(int /*index*/, const char* const* /*names*/, std::size_t /*number*/,
          CountedWork* /*work*/, void* /*context*/, double* /*values*/, char* why,
          std::size_t why_bytes) {
  std::snprintf(why, why_bytes,
                "libsluice_cuda.so was built without the headers of CUPTI's range profiler");
  return kFailed;
}

}  // namespace sluice::train::cuda
