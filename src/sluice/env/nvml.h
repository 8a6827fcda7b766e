// sluice/env/nvml.h - what NVIDIA's management library tells, behind an interface that tests can
// play.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/env/environment.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::env {

/// One call per question; each may fail on its own (old driver, card without the feature, no
/// permission).
class Nvml {
 public:
  enum class Clock { sm = 1, memory = 2 };  // NVML's numbers
  virtual ~Nvml() = default;

  virtual Result<std::string> driver_version() = 0;
  virtual Result<int> cuda_version() = 0;  // 1000 × major + 10 × minor
  virtual Result<unsigned> count() = 0;
  virtual Result<std::string> name(unsigned index) = 0;
  virtual Result<std::string> uuid(unsigned index) = 0;
  virtual Result<std::int64_t> memory_bytes(unsigned index) = 0;
  virtual Result<int> compute_capability(unsigned index) = 0;  // 10 × major + minor
  virtual Result<unsigned> clock_mhz(unsigned index, Clock clock) = 0;
  virtual Result<unsigned> max_clock_mhz(unsigned index, Clock clock) = 0;
  virtual Result<unsigned> power_limit_mw(unsigned index) = 0;
  virtual Result<bool> ecc(unsigned index) = 0;
  virtual Result<bool> mig(unsigned index) = 0;
  virtual Result<bool> persistence(unsigned index) = 0;
  /// Per cent of the last sampling period (up to a second) in which a kernel ran.
  virtual Result<unsigned> utilisation_percent(unsigned index);
  virtual Result<std::int64_t> used_bytes(unsigned index);
  virtual Result<unsigned> power_mw(unsigned index);
  /// Whether the clock is lower than it could be because of the power that the board may draw.
  virtual Result<bool> held_by_power(unsigned index);
};

/// libnvidia-ml.so.1, loaded now and initialised; an error that says what is missing otherwise.
Result<std::unique_ptr<Nvml>> load_nvml();

/// `visible_devices` is CUDA_VISIBLE_DEVICES, unset: all. UUIDs are compared with it and not kept.
Gpus read_gpus(Nvml& nvml, const std::optional<std::string>& visible_devices);
/// No library, no GPUs, and why.
Gpus no_gpus(const std::string& why);

}  // namespace sluice::env
