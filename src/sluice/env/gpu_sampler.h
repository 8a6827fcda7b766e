// sluice/env/gpu_sampler.h - what a GPU does while something else is measured: utilisation and
// memory, asked now and then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/env/nvml.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace sluice::env {

struct GpuSamples {
  std::int64_t count = 0;
  double mean_utilisation = 0;  // 0 to 1
  std::int64_t peak_used_bytes = 0;
  std::int64_t total_bytes = 0;
};

/// A thread that asks NVML; ended by stop() or the destructor.
class GpuSampler {
 public:
  /// Errors: no such device, or one that does not tell.
  static Result<std::unique_ptr<GpuSampler>> start(
      std::unique_ptr<Nvml> nvml, unsigned index,
      std::chrono::milliseconds interval = std::chrono::milliseconds(250));
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  GpuSamples stop();

 private:
  GpuSampler(std::unique_ptr<Nvml> nvml, unsigned index, std::int64_t total_bytes);
  void run(std::chrono::milliseconds interval);
  void take();

  std::unique_ptr<Nvml> nvml_;
  unsigned index_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  GpuSamples samples_;  // of the thread; read after it has ended
  double sum_ = 0;
  std::thread thread_;
};

}  // namespace sluice::env
