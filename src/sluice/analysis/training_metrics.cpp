// sluice/analysis/training_metrics.cpp - steps in, figures out; nothing is measured here.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/training_metrics.h"

#include "sluice/analysis/bottleneck.h"
#include "sluice/analysis/peer_ratio.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace sluice::analysis {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr const char* kNoLoss = "the library does not tell its losses";

double gb_of(double bytes) {
  return std::round(bytes / kGib * 1000) / 1000;
}

using results::TrainingMetrics;
using Figure = TrainingMetrics::Figure;

Figure figure(std::optional<double> value, const std::string& reason) {
  if (!value || !std::isfinite(*value)) return {std::nullopt, reason};
  return {value, ""};
}

Figure figure(double value) {
  return figure(std::optional(value), "the value is not finite");
}

/// Of each step: its own amount where it tells, else the same for all.
std::vector<double> rates_of(const std::vector<double>& step_s, const std::vector<double>& own,
                             double amount) {
  std::vector<double> rates;
  for (std::size_t i = 0; i < step_s.size(); ++i)
    rates.push_back((own.empty() ? amount : own[i]) / step_s[i]);
  return rates;
}

TrainingMetrics::Throughput throughput_of(const TrainingFacts& facts) {
  const TrainingUse& use = facts.use;
  const std::vector<double> tokens = rates_of(use.step_s, use.step_tokens, facts.tokens_per_step);
  const std::vector<double> samples =
      rates_of(use.step_s, use.step_samples, facts.samples_per_step);
  return {.tokens_mean = figure(*stats::mean(tokens)),
          .tokens_p50 = figure(*stats::median(tokens)),
          .tokens_p10 = figure(*stats::percentile(tokens, 10)),
          .tokens_per_step = static_cast<std::int64_t>(facts.tokens_per_step),
          .samples_mean = figure(*stats::mean(samples)),
          .samples_p50 = figure(*stats::median(samples)),
          .samples_per_step = static_cast<std::int64_t>(facts.samples_per_step)};
}

TrainingMetrics::Timing timing_of(const TrainingUse& use) {
  const std::vector<double>& steps = use.step_s;
  constexpr std::array<double, 4> kPercentiles{50, 90, 95, 99};
  const auto found = *stats::percentiles(steps, kPercentiles);
  return {.mean = figure(*stats::mean(steps)),
          .p50 = figure(found[0]),
          .p90 = figure(found[1]),
          .p95 = figure(found[2]),
          .p99 = figure(found[3]),
          .min = figure(*std::min_element(steps.begin(), steps.end())),
          .max = figure(*std::max_element(steps.begin(), steps.end())),
          .steps = steps.size(),
          .run_p50 = use.medians_s,
          .kept_run = use.best_run,
          .waited_share = figure(use.waited_share, "not counted for this program")};
}

TrainingMetrics::Memory memory_of(const TrainingFacts& facts) {
  constexpr const char* kUnknown = "the library does not tell its memory";
  const auto gb = [](std::optional<double> bytes) {
    return figure(bytes ? std::optional(gb_of(*bytes)) : std::nullopt, kUnknown);
  };
  const auto& peak = facts.use.peak_bytes;
  const auto& reserved = facts.use.reserved_bytes ? facts.use.reserved_bytes : peak;
  return {.peak_allocated_bytes = figure(peak, kUnknown),
          .peak_allocated_gb = gb(peak),
          .peak_reserved_bytes = figure(reserved, kUnknown),
          .peak_reserved_gb = gb(reserved),
          .peak_rss_bytes = figure(facts.peak_rss_bytes, "not sampled"),
          .total_gb = figure(gb_of(facts.memory_total_bytes)),
          .driver_peak_bytes =
              figure(facts.use.driver_peak_bytes, facts.phases_by_device
                                                      ? "the driver was not asked by this program"
                                                      : "no GPU was used")};
}

TrainingMetrics::Mfu mfu_of(const TrainingFacts& facts) {
  const bool known = !facts.mfu.empty();
  const auto of_steps = [&](auto statistic) {
    return figure(known ? std::optional(*statistic(facts.mfu)) : std::nullopt,
                  facts.peak_tflops.reason);
  };
  const double step_s = *stats::median(facts.use.step_s);
  const auto rate = [&](double flop) { return flop / step_s / 1e12; };  // TFLOP/s
  const auto share = [&](double flop) {
    const auto& peak = facts.peak_tflops.value;
    return figure(peak ? std::optional(rate(flop) / *peak) : std::nullopt,
                  facts.peak_tflops.reason);
  };
  TrainingMetrics::Mfu mfu{.p50 = of_steps([](const auto& steps) { return stats::median(steps); }),
                           .mean = of_steps([](const auto& steps) { return stats::mean(steps); }),
                           .non_embedding_parameters = facts.non_embedding_parameters,
                           .peak_tflops = figure(facts.peak_tflops.value, facts.peak_tflops.reason),
                           .estimator = facts.estimator,
                           .flop_per_step = figure(facts.step_flop),
                           .achieved_tflops_p50 = figure(rate(facts.step_flop)),
                           .executed_flop_per_step = {},
                           .executed_tflops_p50 = {},
                           .executed_p50 = {},
                           .six_nd_flop_per_step = figure(facts.six_nd_flop),
                           .six_nd_p50 = share(facts.six_nd_flop)};
  if (const auto& executed = facts.use.executed_flop) {
    mfu.executed_flop_per_step = figure(*executed);
    mfu.executed_tflops_p50 = figure(rate(*executed));
    mfu.executed_p50 = share(*executed);
  } else {
    constexpr const char* kUncounted = "the library does not count what it computes";
    mfu.executed_flop_per_step = mfu.executed_tflops_p50 =
        mfu.executed_p50 = {std::nullopt, kUncounted};
  }
  return mfu;
}

TrainingMetrics::Loss loss_of(const TrainingUse& use) {
  return {
      .last = figure(use.losses.empty() ? std::nullopt : std::optional(use.losses.back()), kNoLoss),
      .slope = figure(loss_slope(use.losses, use.loss_at),
                      use.losses.empty() ? kNoLoss : "fewer than two steps"),
      .values = use.losses};
}

measure::Measured<TrainingMetrics::Phases> phases_of(const TrainingUse& use) {
  const auto sum = reconcile(use);
  if (!sum) return {std::nullopt, "the library names no phases"};
  TrainingMetrics::Phases phases;
  phases.steps = use.phase_steps;
  for (const PhaseUse& phase : use.phases)
    phases.per_step.emplace_back(phase.name, phase.seconds);
  phases.sum_s = sum->phases_s;
  phases.natural_step_s = sum->natural_s;
  phases.instrumented_step_s = use.instrumented_s;
  phases.residual_s = sum->residual_s();
  phases.residual_share = sum->share();
  phases.reconciled = sum->reconciled();
  if (!use.data_s.empty()) {
    phases.natural_data_wait_s = *stats::median(use.data_s);
    phases.natural_data_wait_share = *stats::median(use.data_s) / sum->natural_s;
  }
  return {std::move(phases), ""};
}

void put_stability(TrainingMetrics& metrics, const TrainingUse& use) {
  const auto cv = use.step_s.size() > 1 ? stats::cv(use.step_s) : Result<double>(Error{});
  metrics.step_time_cv = figure(cv ? std::optional(*cv) : std::nullopt, "fewer than two steps");
  if (use.losses.empty())
    metrics.loss_finite.reason = kNoLoss;
  else
    metrics.loss_finite.value = true;  // a step without one ends the row
  const bool known = !use.gradient_norms.empty();
  constexpr const char* kReason = "no optimizer runs in this regime, or the library does not tell";
  metrics.gradient_norm_mean =
      figure(known ? std::optional(*stats::mean(use.gradient_norms)) : std::nullopt, kReason);
  metrics.gradient_norm_final =
      figure(known ? std::optional(use.gradient_norms.back()) : std::nullopt, kReason);
}

void put_utilization(TrainingMetrics& metrics, const TrainingFacts& facts) {
  const auto busy = gpu_busy(facts);
  metrics.compute_use = figure(busy ? std::optional(busy->share) : std::nullopt, facts.no_gpu);
  if (busy) metrics.compute_use_label = busy->label;
  metrics.memory_bandwidth_use.reason =
      facts.gpu ? "counters of the hardware are read for our engine alone" : facts.no_gpu;
  metrics.cpu_use = cpu_use(facts.use, facts.cores);
  metrics.clock = gpu_clock(facts);
  const auto of_clock = [&](double GpuUse::*value) {
    return figure(metrics.clock.value ? std::optional((*facts.gpu).*value) : std::nullopt,
                  metrics.clock.reason);
  };
  metrics.clock_mhz = of_clock(&GpuUse::clock_mhz);
  metrics.power_w = of_clock(&GpuUse::power_w);
  metrics.power_limit_w = of_clock(&GpuUse::power_limit_w);
  metrics.held_by_power = of_clock(&GpuUse::held_by_power);
  const auto& bytes = facts.use.least_bytes;
  metrics.memory_rate_estimate =
      figure(bytes ? std::optional(*bytes / *stats::median(facts.use.step_s)) : std::nullopt,
             "the library does not tell what its ops move");
}

}  // namespace

measure::Measured<double> gpu_clock(const TrainingFacts& facts) {
  if (!facts.gpu) return {std::nullopt, facts.no_gpu};
  if (!(facts.gpu->highest_clock_mhz > 0))
    return {std::nullopt, "the driver does not tell the clock of a busy device"};
  return {facts.gpu->clock_mhz / facts.gpu->highest_clock_mhz, ""};
}

std::optional<GpuBusy> gpu_busy(const TrainingFacts& facts) {
  if (facts.phases_by_device) {
    double busy = 0;
    for (const PhaseUse& phase : facts.use.phases)
      if (phase.name != "data" && phase.name != "transfer") busy += phase.seconds;
    if (const auto sum = reconcile(facts.use); sum && sum->natural_s > 0)
      return GpuBusy{std::min(busy / sum->natural_s, 1.0),
                     "share of a step between the first and last kernel of its phases (device "
                     "events)"};
  }
  if (!facts.gpu) return std::nullopt;
  return GpuBusy{facts.gpu->mean_utilisation, "share of time in which a kernel ran (NVML)"};
}

measure::Measured<double> cpu_use(const TrainingUse& use, unsigned cores) {
  const double wall_s = std::accumulate(use.step_s.begin(), use.step_s.end(), 0.0);
  if (!use.cpu_s || !(wall_s > 0) || cores == 0)
    return {std::nullopt, "the CPU time of the steps was not counted"};
  return figure(*use.cpu_s / wall_s / cores);
}

std::optional<TrainingMetrics::Cloud> training_cloud(const measure::Row& row,
                                                     const DownloadProbe& probe) {
  LoaderFacts facts;
  facts.steady = fed_use(row, FedPart::timed);
  facts.first = fed_use(row, FedPart::before);
  if (!facts.steady) return std::nullopt;
  TrainingMetrics::Cloud cloud;
  cloud.download_mb_per_s = download_mb_per_s(facts);
  cloud.network_overhead = network_overhead(facts);
  cloud.cache_hit_rate = cache_hit_rate(facts);
  LoaderFacts timed;
  timed.first = facts.steady;
  cloud.warm_cache_hit_rate = cache_hit_rate(timed);
  cloud.alone_mb_per_s = probe.all;
  cloud.one_worker_mb_per_s = probe.one;
  const int workers = std::max(facts.steady->workers, 1);
  if (probe.all.value && probe.one.value && *probe.one.value > 0)
    cloud.parallel_download_efficiency = figure(*probe.all.value / (workers * *probe.one.value));
  else
    cloud.parallel_download_efficiency.reason =
        probe.all.value ? probe.one.reason : probe.all.reason;
  return cloud;
}

TrainingMetrics training_metrics(const TrainingFacts& facts) {
  TrainingMetrics metrics;
  metrics.machine_profile = facts.machine_profile;
  metrics.config = results::training_config_of(facts.run_config);
  metrics.throughput = throughput_of(facts);
  metrics.timing = timing_of(facts.use);
  metrics.memory = memory_of(facts);
  metrics.mfu = mfu_of(facts);
  metrics.loss = loss_of(facts.use);
  metrics.env = facts.env;
  metrics.timestamp = facts.timestamp;
  metrics.phases = phases_of(facts.use);
  put_stability(metrics, facts.use);
  metrics.amp.enabled = facts.mixed_precision;
  put_utilization(metrics, facts);
  metrics.engine = facts.use.engine;
  metrics.data = facts.use.data;
  metrics.first_step_s = figure(facts.first_step_s.value, facts.first_step_s.reason);
  return metrics;
}

std::vector<std::string> training_metrics_problems(const Json& metrics) {
  enum class Want { text, number, number_or_null, object, list };
  struct Key {
    const char* pointer;
    Want want;
  };
  static constexpr Key kKeys[] = {{"/schema_version", Want::text},
                                  {"/machine_profile", Want::text},
                                  {"/timestamp", Want::text},
                                  {"/env", Want::object},
                                  {"/run_config/mode", Want::text},
                                  {"/run_config/world_size", Want::number},
                                  {"/run_config/per_device_batch_size", Want::number},
                                  {"/run_config/seq_len", Want::number},
                                  {"/run_config/global_batch_size", Want::number},
                                  {"/run_config/grad_accum_steps", Want::number},
                                  {"/run_config/warmup_steps", Want::number},
                                  {"/run_config/measure_steps", Want::number},
                                  {"/run_config/repeat", Want::number},
                                  {"/run_config/profile", Want::text},
                                  {"/run_config/mfu_estimator", Want::text},
                                  {"/run_config/dtype", Want::text},
                                  {"/throughput/tokens_per_sec_mean", Want::number},
                                  {"/throughput/tokens_per_sec_p50", Want::number},
                                  {"/throughput/tokens_per_sec_p10", Want::number},
                                  {"/throughput/tokens_per_step", Want::number},
                                  {"/timing/step_time_mean_s", Want::number},
                                  {"/timing/step_time_p50_s", Want::number},
                                  {"/timing/step_time_p90_s", Want::number},
                                  {"/timing/step_time_min_s", Want::number},
                                  {"/timing/step_time_max_s", Want::number},
                                  {"/memory/peak_allocated_bytes", Want::number_or_null},
                                  {"/memory/peak_allocated_gb", Want::number_or_null},
                                  {"/memory/peak_reserved_bytes", Want::number_or_null},
                                  {"/memory/peak_reserved_gb", Want::number_or_null},
                                  {"/mfu/mfu_p50", Want::number_or_null},
                                  {"/mfu/mfu_mean", Want::number_or_null},
                                  {"/mfu/n_non_embedding_params", Want::number},
                                  {"/mfu/peak_tflops_per_gpu", Want::number_or_null},
                                  {"/mfu/estimator", Want::text},
                                  {"/loss/final_loss", Want::number_or_null},
                                  {"/loss/loss_slope", Want::number_or_null},
                                  {"/loss/loss_values", Want::list}};
  std::vector<std::string> problems;
  for (const Key& key : kKeys) {
    const Json::json_pointer pointer(key.pointer);
    if (!metrics.contains(pointer)) {
      problems.push_back(fmt::format("{}: is missing", key.pointer));
      continue;
    }
    const Json& value = metrics.at(pointer);
    const bool sound =
        (key.want == Want::text && value.is_string()) ||
        (key.want == Want::number && value.is_number()) ||
        (key.want == Want::number_or_null && (value.is_number() || value.is_null())) ||
        (key.want == Want::object && value.is_object()) ||
        (key.want == Want::list && value.is_array());
    if (!sound) problems.push_back(fmt::format("{}: is {}", key.pointer, value.type_name()));
  }
  if (problems.empty() && metrics["schema_version"] != results::kTrainingSchema)
    problems.push_back(fmt::format("/schema_version: expected {}", results::kTrainingSchema));
  return problems;
}

/// After the most steps that both took; how many were taken untimed depends on the clock.
static std::optional<double> difference_of_losses(const TrainingUse& fp32, const TrainingUse& amp) {
  for (std::size_t i = amp.losses.size(); i-- > 0;)
    for (std::size_t k = fp32.losses.size(); k-- > 0;)
      if (amp.loss_steps[i] == fp32.loss_steps[k]) return amp.losses[i] - fp32.losses[k];
  return std::nullopt;
}

std::optional<AmpComparison> compare_amp(const measure::Row& fp32, const measure::Row& amp) {
  const auto plain = training_use(fp32);
  const auto mixed = training_use(amp);
  if (!plain || !mixed || plain->step_s.empty() || mixed->step_s.empty() || plain->losses.empty() ||
      mixed->losses.empty() || plain->peak_bytes.value_or(0) <= 0 || !mixed->peak_bytes)
    return std::nullopt;
  AmpComparison result;
  result.speedup =
      row_ratio(amp, fp32, true)
          .value_or(exactly(*stats::median(plain->step_s) / *stats::median(mixed->step_s)));
  result.memory_saving = 1 - *mixed->peak_bytes / *plain->peak_bytes;
  result.loss_difference = difference_of_losses(*plain, *mixed);
  return result;
}

}  // namespace sluice::analysis
