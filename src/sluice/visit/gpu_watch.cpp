// sluice/visit/gpu_watch.cpp - NVML asked now and then, if it is there.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gpu_watch.h"

#include "sluice/core/log.h"

#include <algorithm>
#include <utility>

namespace sluice::visit {

static constexpr const char* kNoGpuAsked = "no GPU was asked for (--gpu cuda:0)";

GpuWatch::GpuWatch(int index) {
  if (index < 0) {
    reason_ = kNoGpuAsked;
    return;
  }
  auto nvml = env::load_nvml();
  auto sampler = nvml ? env::GpuSampler::start(std::move(*nvml), static_cast<unsigned>(index))
                      : Result<std::unique_ptr<env::GpuSampler>>(nvml.error());
  if (sampler) {
    sampler_ = std::move(*sampler);
    return;
  }
  reason_ = sampler.error().message;
  log::warn("--gpu cuda:{}: {}; its figures are n/a", index, reason_);
}

WatchedGpu GpuWatch::stop() {
  if (!sampler_) return {std::nullopt, reason_};
  const env::GpuSamples seen = sampler_->stop();
  const env::GpuClock clock = seen.clock.value_or(env::GpuClock{});
  return {analysis::GpuUse{seen.mean_utilisation, static_cast<double>(seen.peak_used_bytes),
                           static_cast<double>(seen.total_bytes), clock.mhz, clock.highest_mhz,
                           clock.watts, clock.limit_watts, clock.held_by_power},
          ""};
}

ResourceWatch::ResourceWatch(int gpu_index) : no_gpu_(kNoGpuAsked) {
  std::unique_ptr<env::Nvml> nvml;
  if (gpu_index >= 0) {
    auto loaded = env::load_nvml();
    if (loaded)
      nvml = std::move(*loaded);
    else
      no_gpu_ = loaded.error().message;
  }
  sampler_ = std::make_unique<env::ResourceSampler>(
      env::ResourceLooks(std::move(nvml), static_cast<unsigned>(std::max(gpu_index, 0))));
}

results::ResourceUse ResourceWatch::stop() {
  env::ResourceSamples seen = sampler_->stop();
  results::ResourceUse use;
  use.interval_s = sampler_->interval_s();
  use.at_s = std::move(seen.at_s);
  use.cpu = std::move(seen.cpu);
  use.ram = std::move(seen.ram);
  use.gpu = std::move(seen.gpu);
  use.gpu_ram = std::move(seen.gpu_ram);
  use.cores = seen.cores;
  use.ram_total = seen.ram_total;
  use.gpu_ram_total = seen.gpu_ram_total;
  if (use.gpu.empty()) use.no_gpu = no_gpu_;
  return use;
}

}  // namespace sluice::visit
