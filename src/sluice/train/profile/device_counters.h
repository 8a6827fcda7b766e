// sluice/train/profile/device_counters.h - what a GPU's hardware counts in a training step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/train/profile/profile.h"

#include <optional>

namespace sluice::train {

/// Of one step, measured over `steps` of them, the device's clock included.
struct DeviceCounters {
  int steps = 0;
  double seconds = 0;                  // of a step while it is counted
  double dram_read_bytes = 0;          // of a step
  double dram_write_bytes = 0;         // of a step
  double dram_share = 0;               // of the most its memory can move in that time, 0 to 1
  std::optional<double> tensor_share;  // of the cycles in which tensor cores could work
  [[nodiscard]] double dram_bytes_per_s() const {
    return seconds > 0 ? (dram_read_bytes + dram_write_bytes) / seconds : 0;
  }
};

/// Steps of an engine of its own on config.device, "cuda:N"; `next` and `resident` as for
/// profile_device(). Errc::unsupported with the reason where CUPTI or the driver does not let us
/// count; other errors are the engine's.
Result<DeviceCounters> count_step(const EngineConfig& config, const BatchSource& next,
                                  bool resident);

Json to_json(const DeviceCounters& counters);

}  // namespace sluice::train
