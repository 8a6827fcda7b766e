// sluice/analysis/training_metrics.h - metrics.json: the figures of a training benchmark,
// schema 1.0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/loader_metrics.h"
#include "sluice/analysis/training_use.h"
#include "sluice/core/json.h"
#include "sluice/measure/record.h"
#include "sluice/results/training_metrics.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::analysis {

/// All that the figures of a run are computed from.
struct TrainingFacts {
  Json run_config;  // the keys of the schema and any others, echoed
  std::string machine_profile;
  Json env;               // versions and git
  std::string timestamp;  // UTC, 2026-01-31T23:59:59Z
  TrainingUse use;        // of our row
  double samples_per_step = 0;
  double tokens_per_step = 0;
  double step_flop = 0;     // of the model, by `estimator`
  double six_nd_flop = 0;   // the same by 6ND, for comparison
  std::vector<double> mfu;  // of each step; empty: no peak is known
  std::int64_t non_embedding_parameters = 0;
  measure::Measured<double> peak_tflops;  // per device
  std::string estimator = "shapes";
  bool mixed_precision = false;
  std::optional<double> peak_rss_bytes;
  double memory_total_bytes = 0;  // of the device, or of the machine
  std::optional<GpuUse> gpu;
  std::string no_gpu;             // why `gpu` is absent
  unsigned cores = 1;             // usable
  bool phases_by_device = false;  // the phases of `use` are times of device events
  // From the start of the program to the first step.
  measure::Measured<double> first_step_s{std::nullopt, "the library does not tell"};
};

/// How much of a step the GPU works, 0 to 1. By device events (our phases over the natural step)
/// where the engine runs on it; else NVML's mean, which also sees what is not a step.
struct GpuBusy {
  double share = 0;
  const char* label = "";
};
std::optional<GpuBusy> gpu_busy(const TrainingFacts& facts);
/// Its clock while it was busy, over the highest that it may have.
measure::Measured<double> gpu_clock(const TrainingFacts& facts);

/// Of the natural steps: CPU time over wall time and usable cores.
measure::Measured<double> cpu_use(const TrainingUse& use, unsigned cores);

results::TrainingMetrics training_metrics(const TrainingFacts& facts);

/// Workers that download and nothing else, in the same visit, without a cache; MB/s.
struct DownloadProbe {
  measure::Measured<double> all, one;  // as many workers as feed the steps, and one
};
/// What batches of a row cost that come out of a bucket; nothing where no loader fed it.
std::optional<results::TrainingMetrics::Cloud> training_cloud(const measure::Row& row,
                                                              const DownloadProbe& probe);

/// One line per key that is missing or of the wrong kind; empty: a sound metrics.json.
std::vector<std::string> training_metrics_problems(const Json& metrics);

/// Two types of numbers, same steps: the first is fp32.
struct AmpComparison {
  stats::Estimate speedup;                // t_fp32 / t_amp
  double memory_saving = 0;               // 1 − mem_amp / mem_fp32
  std::optional<double> loss_difference;  // amp − fp32, after the same number of steps
};
/// The speed-up is of runs in pairs of one block, never of the best runs of each side, which may be
/// minutes apart; with one run a side it has no interval. Nothing where either has no step, no
/// memory or no loss.
std::optional<AmpComparison> compare_amp(const measure::Row& fp32, const measure::Row& amp);

}  // namespace sluice::analysis
