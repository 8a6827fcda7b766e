// sluice/env/resource_sampler.h - cores, memory and a GPU over time, while something is measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/env/core_time.h"
#include "sluice/env/nvml.h"
#include "sluice/env/system_root.h"
#include "sluice/env/ticker.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::env {

/// A value per moment in each list; those of the GPU are empty without one.
struct ResourceSamples {
  std::vector<double> at_s;
  std::vector<double> cpu;  // share of the cores that this process may use, since the moment before
  std::vector<double> ram;  // bytes of the machine that no program could have at once
  std::vector<double> gpu;  // share of time in which a kernel ran
  std::vector<double> gpu_ram;  // bytes in use
  int cores = 0;
  double ram_total = 0, gpu_ram_total = 0;  // bytes
};

/// Looks when it is told to; no clock of its own. What cannot be read is 0.
class ResourceLooks {
 public:
  static constexpr std::size_t kMost = 240;

  /// `nvml` may be null: no GPU is watched. So is one that does not tell.
  ResourceLooks(std::unique_ptr<Nvml> nvml, unsigned index, SystemRoot root = SystemRoot{});

  /// The first look is what the second is compared with, and no moment of its own. At kMost moments
  /// neighbours become one, their mean, and `true` asks to be called half as often from now on.
  bool look(double at_s);
  [[nodiscard]] const ResourceSamples& samples() const { return samples_; }

 private:
  std::unique_ptr<Nvml> nvml_;
  unsigned index_;
  SystemRoot root_;
  std::vector<int> cpus_;
  std::optional<double> last_s_;
  CoreTime last_;
  ResourceSamples samples_;
};

/// A thread that looks: every quarter of a second at first, so a run of any length leaves a short
/// list.
class ResourceSampler {
 public:
  explicit ResourceSampler(ResourceLooks looks);
  ResourceSampler(const ResourceSampler&) = delete;
  ResourceSampler& operator=(const ResourceSampler&) = delete;

  /// Ends the thread, with one last look.
  ResourceSamples stop();
  [[nodiscard]] double interval_s() const {
    return std::chrono::duration<double>(interval_).count();
  }

 private:
  void look();

  ResourceLooks looks_;
  std::chrono::milliseconds interval_{250};
  std::chrono::steady_clock::time_point start_;
  std::optional<Ticker> ticker_;  // ends before what it looks with
};

}  // namespace sluice::env
