// sluice/analysis/training_metrics.cpp - steps in, figures out; nothing is measured here.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/training_metrics.h"

#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::analysis {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr const char* kNoLoss = "the library does not tell its losses";

double gb_of(double bytes) {
  return std::round(bytes / kGib * 1000) / 1000;
}

void put(Json& json, const std::string& key, std::optional<double> value,
         const std::string& reason) {
  json[key] = value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
  if (json[key].is_null()) json[key + "_reason"] = reason;
}

std::vector<double> rates_of(const std::vector<double>& step_s, double amount) {
  std::vector<double> rates;
  for (const double seconds : step_s)
    rates.push_back(amount / seconds);
  return rates;
}

Json throughput_json(const TrainingFacts& facts) {
  const std::vector<double> tokens = rates_of(facts.use.step_s, facts.tokens_per_step);
  const std::vector<double> samples = rates_of(facts.use.step_s, facts.samples_per_step);
  return Json{{"tokens_per_sec_mean", *stats::mean(tokens)},
              {"tokens_per_sec_p50", *stats::median(tokens)},
              {"tokens_per_sec_p10", *stats::percentile(tokens, 10)},
              {"tokens_per_step", static_cast<std::int64_t>(facts.tokens_per_step)},
              {"samples_per_sec_mean", *stats::mean(samples)},
              {"samples_per_sec_p50", *stats::median(samples)},
              {"samples_per_step", static_cast<std::int64_t>(facts.samples_per_step)}};
}

Json timing_json(const TrainingUse& use) {
  const std::vector<double>& steps = use.step_s;
  constexpr std::array<double, 4> kPercentiles{50, 90, 95, 99};
  const auto found = *stats::percentiles(steps, kPercentiles);
  Json json{{"step_time_mean_s", *stats::mean(steps)},
            {"step_time_p50_s", found[0]},
            {"step_time_p90_s", found[1]},
            {"step_time_p95_s", found[2]},
            {"step_time_p99_s", found[3]},
            {"step_time_min_s", *std::min_element(steps.begin(), steps.end())},
            {"step_time_max_s", *std::max_element(steps.begin(), steps.end())},
            {"steps", steps.size()},
            {"run_p50_s", use.medians_s},
            {"kept_run", use.best_run}};
  put(json, "waited_share", use.waited_share, "not counted for this program");
  return json;
}

Json memory_json(const TrainingFacts& facts) {
  constexpr const char* kUnknown = "the library does not tell its memory";
  Json json = Json::object();
  const auto both = [&](const std::string& name, std::optional<double> bytes) {
    put(json, name + "_bytes", bytes, kUnknown);
    put(json, name + "_gb", bytes ? std::optional(gb_of(*bytes)) : std::nullopt, kUnknown);
  };
  both("peak_allocated", facts.use.peak_bytes);
  both("peak_reserved", facts.use.reserved_bytes ? facts.use.reserved_bytes : facts.use.peak_bytes);
  put(json, "peak_rss_bytes", facts.peak_rss_bytes, "not sampled");
  json["total_gb"] = gb_of(facts.memory_total_bytes);
  return json;
}

Json mfu_json(const TrainingFacts& facts) {
  Json json = Json::object();
  const bool known = !facts.mfu.empty();
  put(json, "mfu_p50", known ? std::optional(*stats::median(facts.mfu)) : std::nullopt,
      facts.peak_tflops.reason);
  put(json, "mfu_mean", known ? std::optional(*stats::mean(facts.mfu)) : std::nullopt,
      facts.peak_tflops.reason);
  json["n_non_embedding_params"] = facts.non_embedding_parameters;
  put(json, "peak_tflops_per_gpu", facts.peak_tflops.value, facts.peak_tflops.reason);
  json["estimator"] = facts.estimator;
  json["flop_per_step"] = facts.step_flop;
  json["achieved_tflops_p50"] = facts.step_flop / *stats::median(facts.use.step_s) / 1e12;
  return json;
}

Json loss_json(const TrainingUse& use) {
  Json json = Json::object();
  const char* few = use.losses.empty() ? kNoLoss : "fewer than two steps";
  put(json, "final_loss", use.losses.empty() ? std::nullopt : std::optional(use.losses.back()),
      kNoLoss);
  put(json, "loss_slope", loss_slope(use.losses), few);
  json["loss_values"] = use.losses;
  return json;
}

Json phases_json(const TrainingUse& use) {
  const auto sum = reconcile(use);
  if (!sum) return nullptr;
  Json parts = Json::object();
  for (const PhaseUse& phase : use.phases)
    parts[phase.name + "_s"] = phase.seconds;
  Json json{{"steps", use.phase_steps},
            {"per_step", std::move(parts)},
            {"sum_s", sum->phases_s},
            {"natural_step_s", sum->natural_s},
            {"instrumented_step_s", use.instrumented_s},
            {"residual_s", sum->residual_s()},
            {"residual_share", sum->share()},
            {"reconciled", sum->reconciled()}};
  if (!use.data_s.empty()) {
    json["natural_data_wait_s"] = *stats::median(use.data_s);
    json["natural_data_wait_share"] = *stats::median(use.data_s) / sum->natural_s;
  }
  return json;
}

Json stability_json(const TrainingUse& use) {
  Json json = Json::object();
  const auto cv = use.step_s.size() > 1 ? stats::cv(use.step_s) : Result<double>(Error{});
  put(json, "step_time_cv", cv ? std::optional(*cv) : std::nullopt, "fewer than two steps");
  if (use.losses.empty()) {
    json["loss_finite"] = nullptr;
    json["loss_finite_reason"] = kNoLoss;
  } else {
    json["loss_finite"] = true;  // a step without one ends the row
  }
  return json;
}

Json gradient_json(const TrainingUse& use) {
  Json json = Json::object();
  const bool known = !use.gradient_norms.empty();
  constexpr const char* kReason = "no optimizer runs in this regime, or the library does not tell";
  put(json, "mean", known ? std::optional(*stats::mean(use.gradient_norms)) : std::nullopt,
      kReason);
  put(json, "final", known ? std::optional(use.gradient_norms.back()) : std::nullopt, kReason);
  return json;
}

Json utilization_json(const TrainingFacts& facts) {
  Json json = Json::object();
  const auto busy = gpu_busy(facts);
  put(json, "compute", busy ? std::optional(busy->share) : std::nullopt, facts.no_gpu);
  if (busy) json["compute_label"] = busy->label;
  put(json, "memory_bandwidth", std::nullopt,
      facts.gpu ? "DRAM counters (CUPTI) are not read by this build" : facts.no_gpu);
  return json;
}

}  // namespace

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

Json training_metrics_json(const TrainingFacts& facts) {
  Json json{{"schema_version", kTrainingSchema},
            {"machine_profile", facts.machine_profile},
            {"run_config", facts.run_config},
            {"throughput", throughput_json(facts)},
            {"timing", timing_json(facts.use)},
            {"memory", memory_json(facts)},
            {"mfu", mfu_json(facts)},
            {"loss", loss_json(facts.use)},
            {"env", facts.env},
            {"timestamp", facts.timestamp}};
  json["phases"] = phases_json(facts.use);
  if (json["phases"].is_null()) json["phases_reason"] = "the library names no phases";
  json["stability"] = stability_json(facts.use);
  json["gradient_norm"] = gradient_json(facts.use);
  json["amp"] = Json{{"enabled", facts.mixed_precision}};
  json["utilization"] = utilization_json(facts);
  json["engine"] = facts.use.engine;
  json["data"] = facts.use.data;
  Json start = Json::object();
  put(start, "first_step_s", facts.first_step_s.value, facts.first_step_s.reason);
  json["start"] = std::move(start);
  return json;
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
  if (problems.empty() && metrics["schema_version"] != kTrainingSchema)
    problems.push_back(fmt::format("/schema_version: expected {}", kTrainingSchema));
  return problems;
}

std::optional<AmpComparison> compare_amp(const TrainingUse& fp32, const TrainingUse& amp) {
  if (fp32.step_s.empty() || amp.step_s.empty() || fp32.losses.empty() || amp.losses.empty() ||
      fp32.peak_bytes.value_or(0) <= 0 || !amp.peak_bytes)
    return std::nullopt;
  AmpComparison result;
  result.speedup = *stats::median(fp32.step_s) / *stats::median(amp.step_s);
  result.memory_saving = 1 - *amp.peak_bytes / *fp32.peak_bytes;
  result.loss_difference = amp.losses.back() - fp32.losses.back();
  return result;
}

Json to_json(const AmpComparison& comparison) {
  return Json{{"speedup", comparison.speedup},
              {"memory_saving", comparison.memory_saving},
              {"loss_difference", comparison.loss_difference}};
}

}  // namespace sluice::analysis
