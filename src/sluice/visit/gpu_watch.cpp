// sluice/visit/gpu_watch.cpp - NVML asked now and then, if it is there.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gpu_watch.h"

#include "sluice/core/log.h"

namespace sluice::visit {

GpuWatch::GpuWatch(int index) {
  if (index < 0) {
    reason_ = "no GPU was asked for (--gpu cuda:0)";
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
  return {analysis::GpuUse{seen.mean_utilisation, static_cast<double>(seen.peak_used_bytes),
                           static_cast<double>(seen.total_bytes)},
          ""};
}

}  // namespace sluice::visit
