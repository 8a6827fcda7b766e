// sluice/results/loader_metrics.h - what `bench dataloader` concludes from its rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"
#include "sluice/results/conclusions.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::results {

/// A setting of a sweep.
struct LoaderSweepLine {
  int workers = 0;
  int prefetch = 0;
  measure::Measured<stats::Estimate> samples_per_s;
  bool optimal = false;
  std::optional<double> memory_bytes;  // largest resident set of the loading process
};

/// What more workers bring and cost, from the lines of a sweep.
struct WorkerGuide {
  measure::Measured<double> bytes_per_worker;  // slope of the memory over workers
  std::optional<int> knee;  // workers after which twice as many bring less than 10 %
  std::optional<int> most;  // that were tried beyond it
  double past_knee = 1;     // the best rate of more workers over that of the knee
  std::vector<std::string> advice;
};

/// Bundled over unbundled; what was not measured is absent.
struct BundlingGain {
  std::optional<double> first_epoch;
  std::optional<stats::Estimate> later;
};

struct FirstEpoch {
  std::string page_cache;  // "cold", "warm", "mixed", "unknown"
  std::int64_t samples = 0;
};

/// Flags of `bench dataloader`, and why these.
struct RecommendedFlags {
  std::string flags;
  std::string reason;
};

/// What the figures mean: analysis/loader_metrics.h.
struct LoaderMetrics {
  using Figure = measure::Measured<double>;
  Figure throughput, load_time_ms, first_epoch_rate, batch_time_cv;
  Figure gpu_utilisation_percent, idle_vram, sync_overhead;
  Figure cpu_usage_percent, memory_used_gb, memory_total_gb, memory_slope_mb_per_epoch;
  Figure worker_efficiency, worker_overhead, prefetch_efficiency;
  Figure cache_hit_rate, warm_cache_hit_rate;
  Figure download_mb_per_s, network_overhead, parallel_download_efficiency, mmap_effectiveness;
  Figure first_batch_ms, shutdown_ms;
  std::optional<int> workers;
  std::optional<int> batch_size;

  std::vector<Check> targets, indicators;
  std::vector<StageShare> stages;
  std::vector<Finding> findings;
  std::optional<Attribution> step;  // with an emulated consumer
  std::vector<LoaderSweepLine> sweep;
  std::optional<WorkerGuide> guide;  // of a sweep over workers
  RecommendedFlags recommended;
  std::optional<EpochEstimate> epoch;
  std::optional<FirstEpoch> first_epoch;
  std::optional<BundlingGain> bundling;

  std::string limit;                                // the stage that limits it
  measure::Measured<std::string> is_it_the_loader;  // a Bottleneck
  std::string statement;
};

/// The key of a figure in a file.
const char* key_of(LoaderMetrics::Figure LoaderMetrics::*figure);

void keys_of(Sections& file, LoaderMetrics& loader);

}  // namespace sluice::results
