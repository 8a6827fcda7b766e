// sluice/results/training_metrics.cpp - keys of metrics.json and of a training summary.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/training_metrics.h"

#include "sluice/results/sections.h"

#include <cmath>

namespace sluice::results {

static void keys_of(Keys& keys, CanarySpeed& canary) {
  keys("version", canary.version);
  keys("passes_per_s", canary.parts);
}

static void keys_of(Keys& keys, NoiseSummary::Finding& finding) {
  keys("check", finding.check);
  keys("severity", finding.severity);
  keys("value", finding.value);
}

static void keys_of(Keys& keys, NoiseSummary& noise) {
  keys("verdict", noise.verdict);
  keys("score", noise.score);
  keys.or_null("steal", noise.steal);
  keys("findings", noise.findings);
}

static void keys_of(Keys& keys, TrainingMetrics::Config& config) {
  keys("mode", config.mode);
  keys("per_device_batch_size", config.per_device_batch_size);
  keys("grad_accum_steps", config.grad_accum_steps);
  keys("dtype", config.dtype);
  keys.unless_empty("model", config.model);
  keys.unless_empty("device", config.device);
  keys("checkpoint_activations", config.checkpoint_activations);
  keys.rest(config.other);
}

static void keys_of(Keys& keys, TrainingMetrics::Throughput& rate) {
  keys("tokens_per_sec_mean", rate.tokens_mean);
  keys("tokens_per_sec_p50", rate.tokens_p50);
  keys("tokens_per_sec_p10", rate.tokens_p10);
  keys("tokens_per_step", rate.tokens_per_step);
  keys("samples_per_sec_mean", rate.samples_mean);
  keys("samples_per_sec_p50", rate.samples_p50);
  keys("samples_per_step", rate.samples_per_step);
}

static void keys_of(Keys& keys, TrainingMetrics::Timing& timing) {
  keys("step_time_mean_s", timing.mean);
  keys("step_time_p50_s", timing.p50);
  keys("step_time_p90_s", timing.p90);
  keys("step_time_p95_s", timing.p95);
  keys("step_time_p99_s", timing.p99);
  keys("step_time_min_s", timing.min);
  keys("step_time_max_s", timing.max);
  keys("steps", timing.steps);
  keys("run_p50_s", timing.run_p50);
  keys("kept_run", timing.kept_run);
  keys("waited_share", timing.waited_share);
}

static void keys_of(Keys& keys, TrainingMetrics::Memory& memory) {
  keys("peak_allocated_bytes", memory.peak_allocated_bytes);
  keys("peak_allocated_gb", memory.peak_allocated_gb);
  keys("peak_reserved_bytes", memory.peak_reserved_bytes);
  keys("peak_reserved_gb", memory.peak_reserved_gb);
  keys("peak_rss_bytes", memory.peak_rss_bytes);
  keys("total_gb", memory.total_gb);
  keys("driver_peak_bytes", memory.driver_peak_bytes);
}

static void keys_of(Keys& keys, TrainingMetrics::Mfu& mfu) {
  keys("mfu_p50", mfu.p50);
  keys("mfu_mean", mfu.mean);
  keys("n_non_embedding_params", mfu.non_embedding_parameters);
  keys("peak_tflops_per_gpu", mfu.peak_tflops);
  keys("estimator", mfu.estimator);
  keys("flop_per_step", mfu.flop_per_step);
  keys("achieved_tflops_p50", mfu.achieved_tflops_p50);
  keys("executed_flop_per_step", mfu.executed_flop_per_step);
  keys("executed_tflops_p50", mfu.executed_tflops_p50);
  keys("executed_p50", mfu.executed_p50);
  keys("flop_per_step_6nd", mfu.six_nd_flop_per_step);
  keys("mfu_p50_6nd", mfu.six_nd_p50);
}

static void keys_of(Keys& keys, TrainingMetrics::Loss& loss) {
  keys("final_loss", loss.last);
  keys("loss_slope", loss.slope);
  keys("loss_values", loss.values);
}

static void keys_of(Keys& keys, TrainingMetrics::Phases& phases) {
  keys("steps", phases.steps);
  keys.suffixed("per_step", phases.per_step, "_s");
  keys("sum_s", phases.sum_s);
  keys("natural_step_s", phases.natural_step_s);
  keys("instrumented_step_s", phases.instrumented_step_s);
  keys("residual_s", phases.residual_s);
  keys("residual_share", phases.residual_share);
  keys("reconciled", phases.reconciled);
  keys("natural_data_wait_s", phases.natural_data_wait_s);
  keys("natural_data_wait_share", phases.natural_data_wait_share);
}

static void keys_of(Keys& keys, TrainingMetrics::Amp& amp) {
  keys("enabled", amp.enabled);
  keys.estimate("speedup", "speedup_ci95", amp.speedup);
  keys("memory_saving", amp.memory_saving);
  keys("loss_difference", amp.loss_difference);
}

static void keys_of(Keys& keys, TrainingMetrics::Cloud& cloud) {
  keys("download_mb_per_s", cloud.download_mb_per_s);
  keys("network_overhead", cloud.network_overhead);
  keys("parallel_download_efficiency", cloud.parallel_download_efficiency);
  keys("cache_hit_rate", cloud.cache_hit_rate);
  keys("warm_cache_hit_rate", cloud.warm_cache_hit_rate);
  keys("alone_mb_per_s", cloud.alone_mb_per_s);
  keys("one_worker_mb_per_s", cloud.one_worker_mb_per_s);
}

static void keys_of(Keys& keys, TrainingMetrics::Confirmation& confirmation) {
  keys("step_time_p50_s", confirmation.step_p50_s);
  keys("run_p50_s", confirmation.run_p50_s);
  keys("kept", confirmation.kept);
}

static void keys_of(Keys& keys, AnchorCheck& check) {
  keys("step_ms", check.anchor_ms);
  keys("measured_ms", check.measured_ms);
  keys("off", check.off);
  keys("valid", check.valid);
  keys("text", check.text);
}

static void keys_of(Keys& keys, TrainingLibrary& line) {
  keys("case", line.case_name);
  keys("library", line.library);
  keys("version", line.version);
  keys("status", line.status);
  keys.unless_empty("reason", line.reason);
  keys("step_p50_ms", line.step_p50_ms);
  keys("samples_per_sec", line.samples_per_s);
  keys.unless_empty("engine", line.engine);
  keys("peak_bytes", line.peak_bytes);
  keys("queued_step_ms", line.queued_step_ms);
  keys("flop_model", line.model_flop);
  keys("flop_executed", line.executed_flop);
  keys("driver_peak_bytes", line.driver_peak_bytes);
  keys("anchor", line.anchor);
  keys("peak_rss_bytes", line.peak_rss_bytes);
}

static void keys_of(Keys& keys, TrainingSweepLine& line) {
  keys("batch_size", line.batch);
  keys("dtype", line.dtype);
  keys("compile", line.compile);
  keys("last_block", line.last_block);
  keys("storage", line.storage);
  keys("world_size", line.world_size);
  keys("samples_per_sec", line.samples_per_s);
  if (keys.writing() && !line.samples_per_s.value) return;
  keys("steps_per_sec", line.steps_per_s);
  keys("tokens_per_sec", line.tokens_per_s);
  keys("mfu_p50", line.mfu_p50);
  keys("step_ms", line.step_ms);
  keys.suffixed(line.phases_ms, "_ms");
  keys.or_null("peak_bytes", line.peak_bytes);
  keys.or_null("loss", line.loss);
  keys("compute_use", line.compute_use);
  keys("cpu_use", line.cpu_use);
  std::optional<bool> best = line.best ? std::optional(true) : std::nullopt;
  keys("best", best);
  line.best = best.value_or(false);
}

static void keys_of(Keys& keys, ProfiledWork& work) {
  keys("name", work.name);
  keys("category", work.category);
  keys("ms_per_step", work.ms);
  keys("share", work.share);
  keys("calls_per_step", work.calls);
}

static void keys_of(Keys& keys, MaxBatch& most) {
  keys("batch_size", most.batch);
  keys("fixed_bytes", most.fixed_bytes);
  keys("bytes_per_sample", most.bytes_per_sample);
  keys("capped", most.capped);
}

static void keys_of(Keys& keys, CriticalBatch& critical) {
  keys("batch_size", critical.batch);
  keys("cbs_exceeds_tested", critical.exceeds_tested);
  keys("scaling_efficiency", critical.scaling_efficiency);
}

static void keys_of(Keys& keys, BestBatch& best) {
  keys("batch_size", best.batch);
  keys("samples_per_sec", best.samples_per_s);
  keys("of_best", best.of_best);
  keys("fastest_batch_size", best.fastest);
  keys("compute_use", best.compute_use);
  keys("peak_bytes", best.peak_bytes);
}

static void keys_of(Keys& keys, RankWait& wait) {
  keys("rank", wait.rank);
  keys("host", wait.host);
  keys("p50_ms", wait.p50_ms);
  keys("p99_ms", wait.p99_ms);
}

static void keys_of(Keys& keys, SlowestRank& slowest) {
  keys("rank", slowest.rank);
  keys("host", slowest.host);
  keys("waited_for_p50_ms", slowest.waited_for_p50_ms);
  keys("waited_for_p99_ms", slowest.waited_for_p99_ms);
  keys("last_in_share_of_steps", slowest.last_share);
}

static void keys_of(Keys& keys, WorldScaling& scaling) {
  keys("world_size", scaling.world_size);
  keys("library", scaling.library);
  keys("samples_per_s", scaling.samples_per_s);
  keys("alone_samples_per_s", scaling.alone_samples_per_s);
  keys("steps_per_s", scaling.steps_per_s);
  keys("tokens_per_s", scaling.tokens_per_s);
  keys("mfu_p50", scaling.mfu_p50);
  keys.unless_empty("mfu_estimator", scaling.mfu_estimator);
  keys("scaling_efficiency", scaling.efficiency);
  keys("scaling_efficiency_of_runs", scaling.efficiency_of_runs);
  keys("gradient_bytes", scaling.bytes);
  keys("grad_sync_ms", scaling.in_flight_ms);
  keys("grad_sync_exposed_ms", scaling.exposed_ms);
  keys("grad_sync_exposed_share", scaling.exposed_share);
  keys("grad_sync_hidden_share", scaling.hidden_share);
  keys("bus_bytes_per_s", scaling.bus_bytes_per_s);
  keys("waits", scaling.waits);
  keys("slowest", scaling.slowest);
}

static void keys_of(Keys& keys, PeerScaling& scaling) {
  keys("library", scaling.library);
  keys("world_size", scaling.world_size);
  keys("samples_per_s", scaling.samples_per_s);
  keys("alone_samples_per_s", scaling.alone_samples_per_s);
  keys("scaling_efficiency", scaling.efficiency);
  keys("scaling_efficiency_of_runs", scaling.efficiency_of_runs);
}

void keys_of(Keys& keys, TrainingMetrics& metrics) {
  keys("schema_version", metrics.schema_version);
  keys("machine_profile", metrics.machine_profile);
  keys("run_config", metrics.config);
  keys("throughput", metrics.throughput);
  keys("timing", metrics.timing);
  keys("memory", metrics.memory);
  keys("mfu", metrics.mfu);
  keys("loss", metrics.loss);
  keys("env", metrics.env);
  keys("timestamp", metrics.timestamp);
  keys("phases", metrics.phases);
  keys.object("stability", [&](Keys& in) {
    in("step_time_cv", metrics.step_time_cv);
    in("loss_finite", metrics.loss_finite);
  });
  keys.object("gradient_norm", [&](Keys& in) {
    in("mean", metrics.gradient_norm_mean);
    in("final", metrics.gradient_norm_final);
  });
  keys("amp", metrics.amp);
  keys.object("utilization", [&](Keys& in) {
    in("compute", metrics.compute_use);
    in("compute_label", metrics.compute_use_label);
    in("memory_bandwidth", metrics.memory_bandwidth_use);
    in("memory_bandwidth_label", metrics.memory_bandwidth_label);
    in("memory_bytes_per_s_estimate", metrics.memory_rate_estimate);
    in("cpu", metrics.cpu_use);
    in("clock", metrics.clock);
    in("clock_mhz", metrics.clock_mhz);
    in("power_w", metrics.power_w);
    in("power_limit_w", metrics.power_limit_w);
    in("held_by_power", metrics.held_by_power);
    in.unless_empty("hardware_counters", metrics.hardware_counters);
  });
  keys("engine", metrics.engine);
  keys("data", metrics.data);
  keys("cloud", metrics.cloud);
  keys.object("start", [&](Keys& in) { in("first_step_s", metrics.first_step_s); });
  keys.or_null("canary", metrics.canary);
  keys.or_null("noise", metrics.noise);
  keys.or_null("program", metrics.program);
  keys.unless_empty("pairs", metrics.pairs);
  keys("confirmation", metrics.confirmation);
  keys.rest(metrics.other);
}

void keys_of(Sections& file, TrainingSummary& training) {
  Keys& summary = file.summary;
  summary("libraries", training.libraries);
  summary.unless_empty("sweep", training.sweep);
  if (summary.has("oom_batch_sizes")) training.estimates.emplace();
  if (training.estimates) {
    summary("oom_batch_sizes", training.estimates->lost);
    summary("max_batch", training.estimates->most);
    summary("critical_batch", training.estimates->critical);
    summary("best_batch", training.estimates->best);
  }
  summary("scaling", training.scaling);
  summary.unless_empty("peer_scaling", training.peer_scaling);
  summary.unless_empty("targets", training.targets);
  summary.unless_empty("indicators", training.indicators);
  summary.unless_empty("recommendations", training.recommendations);
  summary("epoch", training.epoch);
  summary.unless_empty("profile", training.profile);
  summary.unless_empty("top_kernels", training.top_kernels);
  summary.unless_empty("top_ops", training.top_ops);
  file.verdict("limit", training.limit);
}

double CanarySpeed::log_speed() const {
  double sum = 0;
  for (const auto& part : parts)
    sum += std::log(part.second);
  return parts.empty() ? 0 : sum / static_cast<double>(parts.size());
}

Json to_json(const TrainingMetrics& metrics) {
  Json json;
  Keys::put(json, metrics);
  return json;
}

template <class T>
static void read_kindly(const Json& json, T& value) {
  Problem ignored("");
  const Where root;
  Keys keys(json, root, ignored);
  keys_of(keys, value);
}

TrainingMetrics training_metrics_of(const Json& json) {
  TrainingMetrics metrics;
  metrics.schema_version.clear();
  read_kindly(json, metrics);
  return metrics;
}

TrainingMetrics::Config training_config_of(const Json& json) {
  TrainingMetrics::Config config;
  read_kindly(json, config);
  return config;
}

std::optional<double> phase_of(const TrainingMetrics& metrics, const std::string& name) {
  if (!metrics.phases.value) return std::nullopt;
  for (const auto& [phase, seconds] : metrics.phases.value->per_step)
    if (phase == name) return seconds;
  return std::nullopt;
}

}  // namespace sluice::results
