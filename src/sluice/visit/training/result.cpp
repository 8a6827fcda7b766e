// sluice/visit/training/result.cpp - rows in, conclusions out; nothing is measured here.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/training/result.h"

#include "sluice/analysis/batch_estimates.h"
#include "sluice/analysis/peer_ratio.h"
#include "sluice/analysis/training_verdict.h"
#include "sluice/core/file.h"
#include "sluice/core/utc.h"
#include "sluice/core/version.h"
#include "sluice/stats/summary.h"
#include "sluice/train/peaks.h"
#include "sluice/visit/canary_run.h"
#include "sluice/visit/gate/kept_program.h"
#include "sluice/visit/training/anchors.h"

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>

namespace sluice::visit {
namespace {

using analysis::TrainingUse;
using measure::Row;

/// One of our rows, as planned.
struct Measured {
  train::Regime regime = train::Regime::fp32;
  int batch = 0;
  train::Rung rung = train::Rung::graph;
  const Row* row = nullptr;        // null: interrupted before it
  std::optional<TrainingUse> use;  // absent: not measured
  double samples_per_s = 0;
};

Measured our_row(const results::ResultFile& file, const TrainingPlan& plan, Measured one) {
  const std::string name = training_case(plan, one.regime, one.batch, one.rung);
  for (const Row& row : file.rows)
    if (row.library == "sluice" && row.case_name == name) one.row = &row;
  if (one.row != nullptr && one.row->status == measure::RowStatus::ok)
    one.use = analysis::training_use(*one.row);
  if (one.use)
    one.samples_per_s =
        static_cast<double>(one.batch) * plan.engine.grad_accum / *stats::median(one.use->step_s);
  return one;
}

std::vector<Measured> our_rows(const results::ResultFile& file, const TrainingPlan& plan) {
  std::vector<Measured> list;
  if (!plan.has_ours()) return list;
  for (const int batch : plan.batches) {
    for (const train::Regime regime : plan.regimes)
      for (const train::Rung rung : plan.rungs)
        list.push_back(our_row(file, plan, {regime, batch, rung, nullptr, std::nullopt, 0}));
  }
  return list;
}

double machine_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// From the start of this program to `ns` of the monotonic clock, by what the kernel noted (ticks).
std::optional<double> seconds_since_start(std::int64_t ns) {
  const auto text = read_text_file("/proc/self/stat");
  if (!text) return std::nullopt;
  const std::size_t after_name = text->rfind(')');
  if (after_name == std::string::npos) return std::nullopt;
  const char* at = text->c_str() + after_name + 1;
  char* end = nullptr;
  double ticks = 0;
  for (int field = 3; field <= 22; ++field) {  // the 22nd is the start, since boot
    while (*at == ' ')
      ++at;
    ticks = std::strtod(at, &end);
    if (end == at) ++end;  // a letter: the state
    at = end;
  }
  timespec boot{};
  timespec monotonic{};
  if (clock_gettime(CLOCK_BOOTTIME, &boot) != 0 || clock_gettime(CLOCK_MONOTONIC, &monotonic) != 0)
    return std::nullopt;
  const auto seconds = [](const timespec& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double age = seconds(boot) - ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<double>(ns) * 1e-9 - (seconds(monotonic) - age);
}

Json env_json(const results::ResultFile& file) {
  Json json = metrics_env_json(file.environment);
  for (const Row& row : file.rows)
    if (row.library.starts_with("torch-") && !row.library_version.empty())
      json["torch_version"] = row.library_version;
  if (json["torch_version"].is_null())
    json["torch_version_reason"] = "no Python runs; give --libraries sluice,torch-eager";
  return json;
}

Json config_json(const TrainingPlan& plan, const Measured& one) {
  const train::EngineConfig engine = plan.engine_of(one.regime, one.batch, one.rung);
  return Json{{"mode", plan.synthetic ? "synthetic" : "e2e"},
              {"world_size", 1},
              {"per_device_batch_size", one.batch},
              {"seq_len", engine.model.tokens()},
              {"global_batch_size", one.batch * engine.grad_accum},
              {"grad_accum_steps", engine.grad_accum},
              {"warmup_steps", plan.warmup_steps},
              {"measure_steps", plan.measure_steps},
              {"repeat", plan.policy.runs},
              {"profile", plan.profile},
              {"mfu_estimator", to_string(plan.estimator)},
              {"dtype", to_string(one.regime)},
              {"model", engine.model.name},
              {"device", engine.device},
              {"optimizer", engine.optimizer ? to_string(engine.update.kind) : "none"},
              {"compile", to_string(engine.rung)},
              {"checkpoint_activations", engine.checkpointing},
              {"threads", engine.threads}};
}

std::string text_of(const Json& json, const std::string& fallback) {
  return json.is_string() ? json.get<std::string>() : fallback;
}

analysis::TrainingFacts facts_of(const results::ResultFile& file, const TrainingPlan& plan,
                                 const Measured& one, const WatchedGpu& gpu) {
  const train::ModelSpec& model = plan.engine.model;
  analysis::TrainingFacts facts;
  facts.run_config = config_json(plan, one);
  facts.machine_profile = file.machine_profile;
  facts.env = env_json(file);
  facts.timestamp = utc_now();
  facts.use = *one.use;
  facts.samples_per_step = static_cast<double>(one.batch) * plan.engine.grad_accum;
  facts.tokens_per_step = static_cast<double>(
      analysis::tokens_per_step(one.batch, 1, model.tokens(), plan.engine.grad_accum));
  facts.step_flop = train::step_flop(model, plan.estimator, facts.samples_per_step);
  facts.non_embedding_parameters = train::count_flops(model).non_embedding_parameters;
  facts.estimator = to_string(plan.estimator);
  const std::string in_force = text_of(at(one.use->engine, "dtype"), to_string(one.regime));
  facts.mixed_precision = in_force != to_string(train::Regime::fp32);
  if (plan.peak_tflops) {
    facts.peak_tflops = {*plan.peak_tflops, ""};
  } else {
    const auto peak =
        train::peak_tflops(text_of(at(one.use->engine, "device"), plan.engine.device),
                           facts.mixed_precision ? train::PeakType::bf16 : train::PeakType::fp32);
    if (peak)
      facts.peak_tflops = {*peak, ""};
    else
      facts.peak_tflops = {std::nullopt, peak.error().message};
  }
  if (facts.peak_tflops.value) {
    for (const double seconds : one.use->step_s)
      facts.mfu.push_back(train::mfu(facts.step_flop, seconds, 1, *facts.peak_tflops.value));
  }
  if (one.row->peak_rss_bytes) facts.peak_rss_bytes = static_cast<double>(*one.row->peak_rss_bytes);
  facts.memory_total_bytes = gpu.use ? gpu.use->total_bytes : machine_memory();
  facts.gpu = gpu.use;
  facts.no_gpu = gpu.reason;
  facts.phases_by_device = plan.gpu_index >= 0;
  if (file.rows.size() > 1)
    facts.first_step_s = {std::nullopt, "other rows were prepared before it"};
  else if (one.use->first_step_ns)
    facts.first_step_s = {seconds_since_start(*one.use->first_step_ns), ""};
  return facts;
}

Json phase_ms(const TrainingUse& use) {
  Json json = Json::object();
  for (const analysis::PhaseUse& phase : use.phases)
    json[phase.name + "_ms"] = phase.seconds * 1e3;
  return json;
}

Json sweep_json(const std::vector<Measured>& list, bool ladder) {
  Json json = Json::array();
  for (const Measured& one : list) {
    Json line{{"batch_size", one.batch}, {"dtype", to_string(one.regime)}};
    if (ladder) line["compile"] = to_string(one.rung);
    if (!one.use) {
      line["samples_per_sec"] = nullptr;
      line["samples_per_sec_reason"] =
          one.row != nullptr ? one.row->reason : "interrupted before it was measured";
    } else {
      line["samples_per_sec"] = one.samples_per_s;
      line["step_ms"] = *stats::median(one.use->step_s) * 1e3;
      line.update(phase_ms(*one.use));
      line["peak_bytes"] = one.use->peak_bytes ? Json(*one.use->peak_bytes) : Json(nullptr);
      line["loss"] = one.use->losses.empty() ? Json(nullptr) : Json(one.use->losses.back());
    }
    json.push_back(std::move(line));
  }
  return json;
}

/// Of the rows with the first type at the highest rung.
void add_estimates(Json& summary, const std::vector<Measured>& list, const TrainingPlan& plan,
                   double total_bytes) {
  std::vector<analysis::BatchPoint> points;
  Json lost = Json::array();
  for (const Measured& one : list) {
    if (one.regime != plan.regimes.front() || one.rung != plan.rungs.back()) continue;
    if (one.use && one.use->peak_bytes)
      points.push_back({one.batch, *one.use->peak_bytes, one.samples_per_s});
    else if (one.row != nullptr)
      lost.push_back(one.batch);
  }
  summary["oom_batch_sizes"] = std::move(lost);
  if (const auto most = analysis::max_batch(points, total_bytes)) {
    summary["max_batch"] = Json{{"batch_size", most->batch},
                                {"fixed_bytes", most->fixed_bytes},
                                {"bytes_per_sample", most->bytes_per_sample},
                                {"capped", most->capped}};
  } else {
    summary["max_batch"] = nullptr;
    summary["max_batch_reason"] = "two batch sizes that fit are needed";
  }
  if (const auto critical = analysis::critical_batch(points)) {
    Json scaling = Json::object();
    for (const auto& [batch, efficiency] : critical->scaling_efficiency)
      scaling[std::to_string(batch)] = efficiency;
    summary["critical_batch"] = Json{{"batch_size", critical->batch},
                                     {"cbs_exceeds_tested", critical->exceeds_tested},
                                     {"scaling_efficiency", std::move(scaling)}};
  } else {
    summary["critical_batch"] = nullptr;
    summary["critical_batch_reason"] = "two batch sizes that fit are needed";
  }
}

/// fp32 beside the first other type, at the batch and the rung of `main`.
std::optional<analysis::AmpComparison> amp_of(const std::vector<Measured>& list,
                                              const Measured& main) {
  const Measured* plain = nullptr;
  const Measured* mixed = nullptr;
  for (const Measured& one : list) {
    if (one.batch != main.batch || one.rung != main.rung || !one.use) continue;
    const Measured*& place = one.regime == train::Regime::fp32 ? plain : mixed;
    if (place == nullptr) place = &one;
  }
  if (plain == nullptr || mixed == nullptr) return std::nullopt;
  return analysis::compare_amp(*plain->use, *mixed->use);
}

/// A step of a loop that never waits for the device; null where none was timed.
Json queued_step_ms(const Row& row, const TrainingUse& use) {
  const Json& details = row.runs[use.best_run].details;
  if (!details.is_array()) return nullptr;
  for (const Json& one : details)
    if (const Json& found = at(one, "queued_step_ns"); found.is_number())
      return found.get<double>() * 1e-6;
  return nullptr;
}

Json libraries_json(const results::ResultFile& file, const TrainingPlan& plan) {
  Json json = Json::array();
  for (const Row& row : file.rows) {
    Json line{{"case", row.case_name},
              {"library", row.library},
              {"version", row.library_version},
              {"status", to_string(row.status)}};
    if (row.status != measure::RowStatus::ok) line["reason"] = row.reason;
    if (const auto use = analysis::training_use(row)) {
      line["step_p50_ms"] = *stats::median(use->step_s) * 1e3;
      line["samples_per_sec"] =
          static_cast<double>(row.items_per_sample) / *stats::median(use->step_s);
      if (use->engine.is_object()) line["engine"] = use->engine;
      if (use->peak_bytes) line["peak_bytes"] = *use->peak_bytes;
      if (const Json queued = queued_step_ms(row, *use); !queued.is_null())
        line["queued_step_ms"] = queued;
    }
    if (const auto anchor = check_anchor(row, plan)) line["anchor"] = to_json(*anchor);
    if (row.peak_rss_bytes) line["peak_rss_bytes"] = *row.peak_rss_bytes;
    json.push_back(std::move(line));
  }
  return json;
}

std::string limit_of(const TrainingUse& use) {
  const auto most = std::max_element(use.phases.begin(), use.phases.end(),
                                     [](const analysis::PhaseUse& a, const analysis::PhaseUse& b) {
                                       return a.seconds < b.seconds;
                                     });
  return most != use.phases.end() ? most->name : "";
}

Json epoch_json(const Measured& one, const TrainingPlan& plan, const InputFacts& input) {
  const auto seconds = analysis::epoch_estimate(*one.row, static_cast<double>(input.items));
  if (!seconds) return nullptr;
  Json json{{"sample_ratio", plan.input->sample_ratio},
            {"samples", input.items},
            {"estimated_full_epoch_time_seconds", seconds->point},
            {"estimated_full_epoch_time_minutes", seconds->point / 60}};
  if (seconds->confidence > 0) json["ci95"] = {{"low", seconds->low}, {"high", seconds->high}};
  json["estimated_total_batches"] = input.items / static_cast<std::uint64_t>(one.batch);
  return json;
}

template <class Things>
Json list_of(const Things& things) {
  Json json = Json::array();
  for (const auto& one : things)
    json.push_back(analysis::to_json(one));
  return json;
}

}  // namespace

Json metrics_env_json(const Json& environment) {
  return Json{{"sluice_version", version::kProgram},
              {"compiler", at(at(environment, "build"), "compiler")},
              {"cuda_version", at(at(environment, "gpu"), "cuda_version")},
              {"git_sha", at(at(environment, "git"), "sha")},
              {"git_dirty", at(at(environment, "git"), "dirty")},
              {"torch_version", nullptr},
              {"python_version", nullptr}};
}

void conclude_training(results::ResultFile& file, const TrainingPlan& plan,
                       const TrainingSurroundings& around) {
  fail_slow_peers(file, plan);
  const std::vector<Measured> list = our_rows(file, plan);
  const Measured* best = nullptr;
  for (const Measured& one : list)
    if (one.use && (best == nullptr || one.samples_per_s > best->samples_per_s)) best = &one;
  Json summary{{"libraries", libraries_json(file, plan)}};
  const double total_bytes = around.gpu.use ? around.gpu.use->total_bytes : machine_memory();
  if (list.size() > 1) summary["sweep"] = sweep_json(list, plan.rungs.size() > 1);
  if (plan.swept) add_estimates(summary, list, plan, total_bytes);
  const Json ratios = list_of(analysis::peer_ratios(file));
  if (!ratios.empty()) summary["peer_ratios"] = ratios;
  if (best == nullptr) {
    file.extra = Json{{"summary", std::move(summary)}};
    return;
  }
  const analysis::TrainingFacts facts = facts_of(file, plan, *best, around.gpu);
  const auto amp = amp_of(list, *best);
  Json metrics = analysis::training_metrics_json(facts);
  put_machine(metrics, file);
  const auto program = own_digest();
  metrics["program"] = program ? Json(*program) : Json(nullptr);
  if (amp) metrics["amp"].update(analysis::to_json(*amp));
  summary["targets"] = list_of(analysis::training_targets(facts, amp));
  summary["indicators"] = list_of(analysis::training_indicators(facts));
  summary["recommendations"] = analysis::training_recommendations(
      facts, {.cuda = plan.gpu_index >= 0, .loads = plan.input.has_value()});
  if (around.input != nullptr && plan.input)
    summary["epoch"] = epoch_json(*best, plan, *around.input);
  const std::string limit = limit_of(facts.use);
  file.extra = Json{{"metrics", std::move(metrics)},
                    {"verdict", Json{{"limit", limit}}},
                    {"summary", std::move(summary)}};
}

}  // namespace sluice::visit
