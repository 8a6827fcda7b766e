// sluice/env/resource_sampler.cpp - two files of /proc and NVML, asked now and then.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/resource_sampler.h"

#include "sluice/env/machine.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace sluice::env {
namespace {

constexpr double kKib = 1024;

/// "MemTotal:  8146796 kB" in bytes; 0: there is no such line.
double memory_field(const std::string& text, const char* key) {
  const auto value = find_field(text, key);
  return value ? std::strtod(value->c_str(), nullptr) * kKib : 0;
}

/// Neighbours become their mean, which the later one's moment ends.
void halve(std::vector<double>& values) {
  for (std::size_t i = 0; 2 * i + 1 < values.size(); ++i)
    values[i] = (values[2 * i] + values[2 * i + 1]) / 2;
  values.resize(values.size() / 2);
}

}  // namespace

ResourceLooks::ResourceLooks(std::unique_ptr<Nvml> nvml, unsigned index, SystemRoot root)
    : nvml_(std::move(nvml)), index_(index), root_(std::move(root)), cpus_(allowed_cpus(root_)) {
  samples_.cores = static_cast<int>(cpus_.size());
  if (!nvml_) return;
  const auto total = nvml_->memory_bytes(index_);
  if (total && nvml_->utilisation_percent(index_))
    samples_.gpu_ram_total = static_cast<double>(*total);
  else
    nvml_.reset();
}

bool ResourceLooks::look(double at_s) {
  const CoreTime now = core_time(root_, cpus_);
  const auto before_s = std::exchange(last_s_, at_s);
  const CoreTime before = std::exchange(last_, now);
  if (!before_s) return false;
  const Known<double> share =
      share_of_cores(before.busy_s, now.busy_s, 0, at_s - *before_s, cpus_.size());
  const std::string memory = root_.read("/proc/meminfo").value_or("");
  samples_.ram_total = memory_field(memory, "MemTotal");
  samples_.at_s.push_back(at_s);
  samples_.cpu.push_back(share ? *share : 0);
  samples_.ram.push_back(std::max(0.0, samples_.ram_total - memory_field(memory, "MemAvailable")));
  if (nvml_) {
    const auto percent = nvml_->utilisation_percent(index_);
    const auto used = nvml_->used_bytes(index_);
    samples_.gpu.push_back(percent ? *percent / 100.0 : 0);
    samples_.gpu_ram.push_back(used ? static_cast<double>(*used) : 0);
  }
  if (samples_.at_s.size() < kMost) return false;
  std::vector<double> ends;
  for (std::size_t i = 1; i < samples_.at_s.size(); i += 2)
    ends.push_back(samples_.at_s[i]);
  samples_.at_s = std::move(ends);
  for (auto* values : {&samples_.cpu, &samples_.ram, &samples_.gpu, &samples_.gpu_ram})
    halve(*values);
  return true;
}

ResourceSampler::ResourceSampler(ResourceLooks looks)
    : looks_(std::move(looks)), start_(std::chrono::steady_clock::now()) {
  look();
  ticker_.emplace(interval_, [this] {
    look();
    return interval_;
  });
}

ResourceSamples ResourceSampler::stop() {
  if (ticker_->stop()) look();  // one at least, however short the work is
  return looks_.samples();
}

void ResourceSampler::look() {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
  if (looks_.look(since.count())) interval_ *= 2;
}

}  // namespace sluice::env
