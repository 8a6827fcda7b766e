// sluice/results/training_metrics.h - metrics.json, schema 1.0: the figures of a training
// benchmark, and what `bench training` concludes besides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"
#include "sluice/results/conclusions.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::results {

inline constexpr const char* kTrainingSchema = "1.0";

/// How fast the frozen yardstick ran in the same visit.
struct CanarySpeed {
  std::string version;                  // "canary-v1": other versions are no comparison
  std::map<std::string, double> parts;  // passes per second, each above 0

  /// Mean of the logarithms of the parts.
  [[nodiscard]] double log_speed() const;
};

/// What a gate asks of a noise check; advice and single facts stay in env.json.
struct NoiseSummary {
  struct Finding {
    std::string check, severity, value;
  };
  std::string verdict;
  Json score;
  std::optional<double> steal;  // share of the cores' time that the hypervisor kept
  std::vector<Finding> findings;
};

/// What a step is made of, seconds.
struct TrainingPhases {
  std::int64_t steps = 0;                                // of the instrumented pass
  std::vector<std::pair<std::string, double>> per_step;  // seconds, by name
  double sum_s = 0, natural_step_s = 0, instrumented_step_s = 0;
  double residual_s = 0, residual_share = 0;
  bool reconciled = false;
  std::optional<double> natural_data_wait_s, natural_data_wait_share;
};

/// `metrics` of a result file, and metrics.json beside it. Other programs write such files too:
/// what is not known of them is left as it was.
struct TrainingMetrics {
  using Figure = measure::Measured<double>;

  struct Config {
    std::string mode, dtype, model, device;
    std::optional<std::int64_t> per_device_batch_size, grad_accum_steps;
    std::optional<bool> checkpoint_activations;
    Json other;  // further keys, echoed
  };
  struct Throughput {
    Figure tokens_mean, tokens_p50, tokens_p10;  // per second
    std::optional<std::int64_t> tokens_per_step;
    Figure samples_mean, samples_p50;
    std::optional<std::int64_t> samples_per_step;
  };
  struct Timing {  // of a step, seconds
    Figure mean, p50, p90, p95, p99, min, max;
    std::optional<std::uint64_t> steps;
    std::optional<std::vector<double>> run_p50;  // of every run
    std::optional<std::uint64_t> kept_run;
    Figure waited_share;  // of the steps: threads wanted a core and had none
  };
  struct Memory {
    Figure peak_allocated_bytes, peak_allocated_gb, peak_reserved_bytes, peak_reserved_gb;
    Figure peak_rss_bytes;
    Figure total_gb;
    Figure driver_peak_bytes;  // that the device's driver counts for all of the process
  };
  /// p50, mean, flop_per_step and achieved_tflops_p50 are of the FLOP of the model, by the
  /// estimator: what the whole model needs, whether or not all of it was computed.
  struct Mfu {
    Figure p50, mean;
    std::optional<std::int64_t> non_embedding_parameters;
    Figure peak_tflops;  // per device
    std::string estimator;
    Figure flop_per_step, achieved_tflops_p50;
    /// Of the matrix products that ran; executed_p50 is their share of the peak.
    Figure executed_flop_per_step, executed_tflops_p50, executed_p50;
    Figure six_nd_flop_per_step, six_nd_p50;  // by 6ND, whatever the estimator
  };
  struct Loss {
    Figure last, slope;
    std::optional<std::vector<double>> values;
  };
  using Phases = TrainingPhases;
  struct Amp {
    bool enabled = false;
    /// t_fp32 / t_amp of runs in pairs; exact (confidence 0) where there was one pair.
    std::optional<stats::Estimate> speedup;
    std::optional<double> memory_saving;    // 1 − mem_amp / mem_fp32
    std::optional<double> loss_difference;  // amp − fp32, after the same number of steps
  };
  /// What batches cost that come out of a bucket, as in LoaderMetrics.
  struct Cloud {
    Figure download_mb_per_s, network_overhead, parallel_download_efficiency;
    Figure cache_hit_rate;       // in the steps before the timed ones: as the run found the cache
    Figure warm_cache_hit_rate;  // in the timed steps
    Figure alone_mb_per_s;       // of the same workers without a model, and without a cache
    Figure one_worker_mb_per_s;  // of one worker, likewise
  };
  /// A second run beside the first: the faster counts.
  struct Confirmation {
    std::vector<double> step_p50_s, run_p50_s;
    std::string kept;  // "first", "second"
  };

  std::string schema_version = kTrainingSchema;
  std::string machine_profile;
  Config config;
  Throughput throughput;
  Timing timing;
  Memory memory;
  Mfu mfu;
  Loss loss;
  Json env;               // versions and git
  std::string timestamp;  // UTC, 2026-01-31T23:59:59Z
  measure::Measured<Phases> phases;
  Figure step_time_cv;
  measure::Measured<bool> loss_finite;
  Figure gradient_norm_mean, gradient_norm_final;
  Amp amp;
  Figure compute_use, memory_bandwidth_use;  // shares of the GPU
  /// Of a busy GPU: its clock as a share of its highest, that in MHz, what it drew, what it may
  /// draw, and the share of the time in which that limit held the clock down.
  Figure clock, clock_mhz, power_w, power_limit_w, held_by_power;
  std::optional<std::string> compute_use_label, memory_bandwidth_label;
  Figure memory_rate_estimate;  // bytes/s: the least that the ops of a step move, over its time
  Figure cpu_use;               // share of the usable cores in the timed steps
  Json hardware_counters;       // of a step (train/profile/device_counters.h); null: none were read
  Json engine;  // device, library, threads, types in force, as the library tells; null: unknown
  Json data;    // where batches come from
  std::optional<Cloud> cloud;  // where they come out of a bucket
  Figure first_step_s;
  std::optional<CanarySpeed> canary;
  std::optional<NoiseSummary> noise;
  std::optional<std::string> program;  // digest of the program that measured
  Json pairs;                          // a gate report; null: none were taken
  std::optional<Confirmation> confirmation;
  Json other;
};

Json to_json(const TrainingMetrics& metrics);
/// Of a document that nobody vouches for: a figure of the wrong type is one without a reason, and
/// anything else of the wrong type is not there.
TrainingMetrics training_metrics_of(const Json& json);
TrainingMetrics::Config training_config_of(const Json& json);
/// The phase's seconds; absent: it was not measured.
std::optional<double> phase_of(const TrainingMetrics& metrics, const std::string& name);

struct AnchorCheck {
  double anchor_ms = 0;
  double measured_ms = 0;  // median step of the best run
  double off = 0;
  bool valid = false;
  std::string text;  // "anchor: 28.5 ms, measured 29.1 ms, off by +2.1 %"
};

/// A row in one line.
struct TrainingLibrary {
  std::string case_name, library, version, status;
  std::string reason;  // why not ok
  std::optional<double> step_p50_ms, samples_per_s;
  Json engine;  // null: unknown
  std::optional<double> peak_bytes, queued_step_ms;
  std::optional<double> model_flop, executed_flop;  // of a step; the model's are from its shapes
  std::optional<double> driver_peak_bytes;          // of the device, as its driver counts
  std::optional<AnchorCheck> anchor;
  std::optional<std::int64_t> peak_rss_bytes;
};

struct TrainingSweepLine {
  std::int64_t batch = 0;
  std::string dtype;
  std::optional<std::string> compile, last_block;
  std::optional<std::string> storage;      // that the input lies on, where several are measured
  std::optional<std::int64_t> world_size;  // ranks, where several are measured
  measure::Measured<double> samples_per_s;
  std::optional<double> steps_per_s, tokens_per_s;               // with world_size; of all ranks
  measure::Measured<double> mfu_p50{std::nullopt, kMissingKey};  // with world_size
  double step_ms = 0;
  std::vector<std::pair<std::string, double>> phases_ms;  // by name
  std::optional<double> peak_bytes, loss;
  std::optional<double> compute_use;  // of the GPU, 0 to 1
  std::optional<double> cpu_use;      // of the usable cores, 0 to 1
  bool best = false;                  // of its settings: the smallest batch that is fast enough
};

/// The largest batch that should fit.
struct MaxBatch {
  std::int64_t batch = 1;
  double fixed_bytes = 0;
  double bytes_per_sample = 0;
  bool capped = false;  // more might fit; nothing near it was tried
};

/// Where larger batches stop paying.
struct CriticalBatch {
  std::int64_t batch = 1;
  bool exceeds_tested = false;  // `batch` is the largest that was tried
  std::vector<std::pair<std::string, double>> scaling_efficiency;  // by batch
};

/// The smallest batch whose rate is within 2 % of the best that fits.
struct BestBatch {
  std::int64_t batch = 1;
  double samples_per_s = 0;
  double of_best = 1;                 // its rate over the best one
  std::int64_t fastest = 1;           // the batch of that rate
  std::optional<double> compute_use;  // of the GPU, 0 to 1; absent: no GPU
  std::optional<double> peak_bytes;
};

/// Of a sweep over batch sizes.
struct BatchEstimates {
  std::vector<std::int64_t> lost;  // batches that did not fit
  measure::Measured<MaxBatch> most;
  measure::Measured<CriticalBatch> critical;
  measure::Measured<BestBatch> best;
};

/// A line of a profile: a kernel of a GPU, or an op. Observed, never a measurement.
struct ProfiledWork {
  std::string name;
  std::string category;
  double ms = 0;     // per step
  double share = 0;  // of the step; of a kernel: of the step's time on the device
  double calls = 0;  // per step
};

/// How long a rank waited at the end of a step: for the others, and for the sum.
struct RankWait {
  std::int64_t rank = 0;
  std::optional<std::string> host;  // digits that tell machines apart; absent: not known
  double p50_ms = 0;
  double p99_ms = 0;
};

/// The rank with the shortest wait. What the others wait longer than it, they wait for it: by step
/// and by other rank, 0 where it waited longer itself.
struct SlowestRank {
  std::int64_t rank = 0;
  std::optional<std::string> host;
  double waited_for_p50_ms = 0;
  double waited_for_p99_ms = 0;
  double last_share = 0;  // of the steps: it waited least
};

/// Several ranks that train together, beside one rank with the same batch a rank. Times are medians
/// of the timed steps of rank 0.
struct WorldScaling {
  std::int64_t world_size = 1;
  std::string library;  // that adds up
  double samples_per_s = 0;
  double alone_samples_per_s = 0;
  std::optional<double> steps_per_s, tokens_per_s;  // absent: a file from before they were kept
  measure::Measured<double> mfu_p50{std::nullopt, kMissingKey};  // of all devices together
  std::string mfu_estimator;                                     // of the model's FLOP
  double efficiency = 0;  // samples_per_s / (world_size * alone_samples_per_s)
  std::optional<stats::Estimate> efficiency_of_runs;  // pairs of runs; absent with one run
  double bytes = 0;                                   // of gradients, of one rank
  double in_flight_ms = 0;                            // from the first piece until all are added up
  double exposed_ms = 0;                              // of it: the step did nothing else
  double exposed_share = 0;                           // of the step
  double hidden_share = 0;                            // of in_flight_ms
  double bus_bytes_per_s = 0;
  std::vector<RankWait> waits;
  std::optional<SlowestRank> slowest;
};

/// Ranks of another library beside one process of it.
struct PeerScaling {
  std::string library;
  std::int64_t world_size = 1;
  double samples_per_s = 0;
  double alone_samples_per_s = 0;
  double efficiency = 0;
  std::optional<stats::Estimate> efficiency_of_runs;  // as in WorldScaling
};

struct TrainingSummary {
  std::vector<TrainingLibrary> libraries;
  std::vector<TrainingSweepLine> sweep;
  std::optional<BatchEstimates> estimates;
  std::optional<WorldScaling> scaling;  // of the fastest row with several ranks
  std::vector<PeerScaling> peer_scaling;
  std::vector<Check> targets, indicators;
  std::vector<std::string> recommendations;
  std::optional<EpochEstimate> epoch;
  std::vector<std::string> profile;       // traces
  std::vector<ProfiledWork> top_kernels;  // of the profile, longest first: of a GPU,
  std::vector<ProfiledWork> top_ops;      // or of a CPU
  std::optional<std::string> limit;       // the longest phase
};

void keys_of(Keys& keys, TrainingMetrics& metrics);
void keys_of(Sections& file, TrainingSummary& summary);

}  // namespace sluice::results
