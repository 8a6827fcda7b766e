// sluice/env/gpu_sampler.cpp - one thread, one question every quarter of a second.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/gpu_sampler.h"

#include <algorithm>

namespace sluice::env {

Result<std::unique_ptr<GpuSampler>> GpuSampler::start(std::unique_ptr<Nvml> nvml, unsigned index,
                                                      std::chrono::milliseconds interval) {
  SLUICE_TRY(const auto total, nvml->memory_bytes(index));
  SLUICE_CHECK(nvml->utilisation_percent(index));
  auto sampler = std::unique_ptr<GpuSampler>(new GpuSampler(std::move(nvml), index, total));
  sampler->take();  // one at least, however short the work is
  sampler->thread_ = std::thread([raw = sampler.get(), interval] { raw->run(interval); });
  return sampler;
}

GpuSampler::GpuSampler(std::unique_ptr<Nvml> nvml, unsigned index, std::int64_t total_bytes)
    : nvml_(std::move(nvml)), index_(index) {
  samples_.total_bytes = total_bytes;
}

GpuSampler::~GpuSampler() {
  stop();
}

GpuSamples GpuSampler::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  samples_.mean_utilisation = samples_.count > 0 ? sum_ / static_cast<double>(samples_.count) : 0;
  return samples_;
}

void GpuSampler::run(std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return ending_; })) {
    lock.unlock();
    take();
    lock.lock();
  }
}

void GpuSampler::take() {
  if (const auto percent = nvml_->utilisation_percent(index_)) {
    sum_ += *percent / 100.0;
    ++samples_.count;
  }
  if (const auto used = nvml_->used_bytes(index_))
    samples_.peak_used_bytes = std::max(samples_.peak_used_bytes, *used);
}

}  // namespace sluice::env
