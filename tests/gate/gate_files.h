// tests/gate/gate_files.h - metrics.json and eval.json made by hand, as small as the schema allows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/gate/baseline/compare.h"

namespace sluice::gate {

inline Json metrics_of(double tokens_per_s = 10'000, double step_s = 0.1, double bytes = 1e9) {
  return Json{
      {"schema_version", "1.0"},
      {"machine_profile", "cpu_test"},
      {"timestamp", "2026-01-31T12:00:00Z"},
      {"env", {{"git_sha", std::string(40, 'a')}, {"git_dirty", false}}},
      {"run_config",
       {{"mode", "synthetic"},
        {"world_size", 1},
        {"per_device_batch_size", 8},
        {"seq_len", 128},
        {"global_batch_size", 8},
        {"grad_accum_steps", 1},
        {"warmup_steps", 5},
        {"measure_steps", 20},
        {"repeat", 5},
        {"profile", "off"},
        {"mfu_estimator", "6ND"},
        {"dtype", "fp32"}}},
      {"throughput",
       {{"tokens_per_sec_mean", tokens_per_s},
        {"tokens_per_sec_p50", tokens_per_s},
        {"tokens_per_sec_p10", tokens_per_s},
        {"tokens_per_step", 1024}}},
      {"timing",
       {{"step_time_mean_s", step_s},
        {"step_time_p50_s", step_s},
        {"step_time_p90_s", step_s * 1.1},
        {"step_time_min_s", step_s},
        {"step_time_max_s", step_s},
        {"run_p50_s", {step_s, step_s * 1.001}}}},
      {"memory",
       {{"peak_allocated_bytes", bytes},
        {"peak_allocated_gb", 0.931},
        {"peak_reserved_bytes", bytes},
        {"peak_reserved_gb", 0.931}}},
      {"mfu",
       {{"mfu_p50", nullptr},
        {"mfu_mean", nullptr},
        {"n_non_embedding_params", 1},
        {"peak_tflops_per_gpu", nullptr},
        {"estimator", "6ND"}}},
      {"loss", {{"final_loss", 2.0}, {"loss_slope", -0.01}, {"loss_values", {2.1, 2.0}}}},
      {"canary", {{"version", "canary-v1"}, {"passes_per_s", {{"gemm", 100.0}, {"idct", 200.0}}}}}};
}

inline Json eval_of(double ppl = 12, double probe = 0.92) {
  return Json{
      {"schema_version", "1.0"},
      {"machine_profile", "cpu_test"},
      {"timestamp", "2026-01-31T12:00:00Z"},
      {"env", Json::object()},
      {"eval_config", Json::object()},
      {"ppl_fixed_shard", ppl},
      {"task_probe_accuracy",
       {{"basic_reasoning_25", probe}, {"format_following_30", 0.9}, {"code_sanity_20", 0.85}}}};
}

inline RunFiles run_of(const Json& metrics = metrics_of(), Json eval = eval_of()) {
  return {"run", results::training_metrics_of(metrics), std::move(eval)};
}

/// Changes what the metrics.json of a run holds, as another program might write it.
inline void put(RunFiles& run, const char* pointer, const Json& value) {
  Json json = results::to_json(*run.metrics);
  json[Json::json_pointer(pointer)] = value;
  run.metrics = results::training_metrics_of(json);
}

}  // namespace sluice::gate
