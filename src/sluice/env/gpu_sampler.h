// sluice/env/gpu_sampler.h - what a GPU does while something else is measured: utilisation, memory,
// clock and power, asked now and then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/env/nvml.h"
#include "sluice/env/ticker.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::env {

/// Of the moments in which the device was busy, medians.
struct GpuClock {
  double mhz = 0, highest_mhz = 0;  // of its multiprocessors; the most that they may have
  double watts = 0, limit_watts = 0;
  double held_by_power = 0;  // share of those moments in which the power limit held the clock down
};

struct GpuSamples {
  std::int64_t count = 0;
  double mean_utilisation = 0;  // 0 to 1
  std::int64_t peak_used_bytes = 0;
  std::int64_t total_bytes = 0;
  std::optional<GpuClock> clock;  // nothing: the device was never busy, or does not tell
};

/// A thread that asks NVML; ended by stop() or the destructor.
class GpuSampler {
 public:
  /// Errors: no such device, or one that does not tell.
  static Result<std::unique_ptr<GpuSampler>> start(
      std::unique_ptr<Nvml> nvml, unsigned index,
      std::chrono::milliseconds interval = std::chrono::milliseconds(250));
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  GpuSamples stop();

 private:
  GpuSampler(std::unique_ptr<Nvml> nvml, unsigned index, std::int64_t total_bytes);
  void take();
  void take_clock();

  std::unique_ptr<Nvml> nvml_;
  unsigned index_;
  GpuSamples samples_;  // of the thread; read after it has ended
  double sum_ = 0;
  std::vector<double> mhz_, watts_, held_;  // of the moments in which it was busy
  std::optional<Ticker> ticker_;            // ends before what it writes to
};

}  // namespace sluice::env
