// sluice/visit/gpu_watch.h - what the machine and its GPU do while a command measures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/loader_metrics.h"
#include "sluice/env/gpu_sampler.h"
#include "sluice/env/resource_sampler.h"
#include "sluice/results/resources.h"

#include <memory>
#include <optional>
#include <string>

namespace sluice::visit {

struct WatchedGpu {
  std::optional<analysis::GpuUse> use;
  std::string reason;  // why there is none
};

/// Watches from its making to stop(). A device that cannot be watched makes its figures n/a, not
/// the run: a warning says so.
class GpuWatch {
 public:
  explicit GpuWatch(int index);  // -1: no GPU was asked for
  WatchedGpu stop();

 private:
  std::string reason_;
  std::unique_ptr<env::GpuSampler> sampler_;
};

/// Cores, memory and GPU over time, from its making to stop().
class ResourceWatch {
 public:
  explicit ResourceWatch(int gpu_index);  // -1: no GPU was asked for
  results::ResourceUse stop();            // once

 private:
  std::string no_gpu_;  // why it is not watched
  std::unique_ptr<env::ResourceSampler> sampler_;
};

}  // namespace sluice::visit
