// sluice/env/gpu_sampler.cpp - one thread, one question every quarter of a second.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/gpu_sampler.h"

#include <algorithm>
#include <numeric>

namespace sluice::env {
namespace {

constexpr unsigned kBusyPercent = 90;  // of the last sampling period
constexpr double kMilliwatts = 1000;   // of a watt

double middle(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

Result<std::unique_ptr<GpuSampler>> GpuSampler::start(std::unique_ptr<Nvml> nvml, unsigned index,
                                                      std::chrono::milliseconds interval) {
  SLUICE_TRY(const auto total, nvml->memory_bytes(index));
  SLUICE_CHECK(nvml->utilisation_percent(index));
  auto sampler = std::unique_ptr<GpuSampler>(new GpuSampler(std::move(nvml), index, total));
  sampler->take();  // one at least, however short the work is
  sampler->ticker_.emplace(interval, [raw = sampler.get(), interval] {
    raw->take();
    return interval;
  });
  return sampler;
}

GpuSampler::GpuSampler(std::unique_ptr<Nvml> nvml, unsigned index, std::int64_t total_bytes)
    : nvml_(std::move(nvml)), index_(index) {
  samples_.total_bytes = total_bytes;
}

GpuSamples GpuSampler::stop() {
  ticker_->stop();
  samples_.mean_utilisation = samples_.count > 0 ? sum_ / static_cast<double>(samples_.count) : 0;
  const auto highest = nvml_->max_clock_mhz(index_, Nvml::Clock::sm);
  const auto limit = nvml_->power_limit_mw(index_);
  if (!mhz_.empty() && highest && limit)
    samples_.clock = {
        middle(mhz_), static_cast<double>(*highest), middle(watts_), *limit / kMilliwatts,
        std::accumulate(held_.begin(), held_.end(), 0.0) / static_cast<double>(held_.size())};
  return samples_;
}

void GpuSampler::take() {
  if (const auto percent = nvml_->utilisation_percent(index_)) {
    sum_ += *percent / 100.0;
    ++samples_.count;
    if (*percent >= kBusyPercent) take_clock();
  }
  if (const auto used = nvml_->used_bytes(index_))
    samples_.peak_used_bytes = std::max(samples_.peak_used_bytes, *used);
}

void GpuSampler::take_clock() {
  const auto mhz = nvml_->clock_mhz(index_, Nvml::Clock::sm);
  const auto milliwatts = nvml_->power_mw(index_);
  const auto held = nvml_->held_by_power(index_);
  if (!mhz || !milliwatts || !held) return;
  mhz_.push_back(*mhz);
  watts_.push_back(*milliwatts / kMilliwatts);
  held_.push_back(*held ? 1 : 0);
}

}  // namespace sluice::env
