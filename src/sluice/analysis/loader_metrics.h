// sluice/analysis/loader_metrics.h - what the figures of a loader mean: one record each, read by
// the result file, the report and `--explain`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/loader_use.h"
#include "sluice/results/loader_metrics.h"

#include <span>

namespace sluice::analysis {

/// What a sampling of the device saw meanwhile; absent without one.
struct GpuUse {
  double mean_utilisation = 0;  // share of time in which a kernel ran, 0 to 1
  double peak_used_bytes = 0, total_bytes = 0;
  /// While it was busy; 0: not known.
  double clock_mhz = 0, highest_clock_mhz = 0, power_w = 0, power_limit_w = 0;
  double held_by_power = 0;  // share of that time in which the power limit held the clock down
};

/// All that the metrics of a run are computed from.
struct LoaderFacts {
  double rate = 0;                  // samples per second, mean over runs
  std::optional<LoaderUse> steady;  // null consumer, everything warm
  std::optional<LoaderUse> first;   // the first epoch, as the run found its caches
  std::optional<GpuUse> gpu;
  std::string no_gpu;                              // why `gpu` is absent
  unsigned cores = 1;                              // usable
  double memory_total_bytes = 0;                   // of the machine or its cgroup
  double peak_rss_bytes = 0;                       // of the loading process
  std::optional<double> one_worker_download_mb_s;  // of a row with one worker
};

struct LoaderMetric {
  results::LoaderMetrics::Figure results::LoaderMetrics::*figure;
  const char* title;  // for people: "worker efficiency"
  const char* unit;   // "", "%", "MB/s"; a share is shown in per cent
  const char* definition;
  measure::Measured<double> (*compute)(const LoaderFacts& facts);

  [[nodiscard]] const char* key() const { return results::key_of(figure); }
};

std::span<const LoaderMetric> loader_metrics();

/// The figures alone.
results::LoaderMetrics loader_figures(const LoaderFacts& facts);

// Those that others are computed from.
measure::Measured<double> worker_efficiency(const LoaderFacts& facts);
measure::Measured<double> prefetch_efficiency(const LoaderFacts& facts);
measure::Measured<double> cache_hit_rate(const LoaderFacts& facts);
measure::Measured<double> mmap_effectiveness(const LoaderFacts& facts);
measure::Measured<double> download_mb_per_s(const LoaderFacts& facts);
measure::Measured<double> network_overhead(const LoaderFacts& facts);
measure::Measured<double> parallel_download_efficiency(const LoaderFacts& facts);
measure::Measured<double> idle_vram(const LoaderFacts& facts);
measure::Measured<double> batch_time_cv(const LoaderFacts& facts);

}  // namespace sluice::analysis
