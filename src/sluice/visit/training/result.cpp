// sluice/visit/training/result.cpp - rows in, conclusions out; nothing is measured here.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/training/result.h"

#include "sluice/analysis/batch_estimates.h"
#include "sluice/analysis/peer_ratio.h"
#include "sluice/analysis/training_verdict.h"
#include "sluice/analysis/world/peer_scaling.h"
#include "sluice/analysis/world_scaling.h"
#include "sluice/core/file.h"
#include "sluice/core/thread_pool.h"
#include "sluice/core/utc.h"
#include "sluice/core/version.h"
#include "sluice/stats/summary.h"
#include "sluice/train/profile/peaks.h"
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
  train::LastBlock last_block = train::LastBlock::full;
  std::size_t input = 0;           // which of the plan's
  std::string storage;             // that it lies on, where there are several
  int world = 1;                   // ranks
  const Row* row = nullptr;        // null: interrupted before it
  std::optional<TrainingUse> use;  // absent: not measured
  double samples_per_s = 0;
};

Measured our_row(const results::ResultFile& file, const TrainingPlan& plan, Measured one) {
  const std::string name =
      training_case(plan, one.regime, one.batch, one.rung, one.last_block, one.storage, one.world);
  for (const Row& row : file.rows)
    if (row.library == "sluice" && row.case_name == name) one.row = &row;
  if (one.row != nullptr && one.row->status == measure::RowStatus::ok)
    one.use = analysis::training_use(*one.row);
  if (one.use)
    one.samples_per_s = static_cast<double>(one.batch) * plan.engine.grad_accum * one.world /
                        *stats::median(one.use->step_s);
  return one;
}

std::vector<Measured> our_rows(const results::ResultFile& file, const TrainingPlan& plan,
                               const std::vector<std::string>& storages) {
  std::vector<Measured> list;
  if (!plan.has_ours()) return list;
  const bool several = plan.inputs().size() > 1;
  const auto add = [&](Measured one) {
    for (std::size_t i = 0; i < (several ? storages.size() : 1); ++i) {
      one.input = i;
      if (several) one.storage = storages[i];
      list.push_back(our_row(file, plan, one));
    }
  };
  for (const int batch : plan.batches)
    for (const train::Regime regime : plan.regimes)
      for (const train::LastBlock last_block : plan.last_blocks)
        for (const train::Rung rung : plan.rungs)
          for (const int world : plan.worlds())
            add({regime, batch, rung, last_block, 0, "", world, nullptr, std::nullopt, 0});
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
  const train::EngineConfig engine =
      plan.engine_of(one.regime, one.batch, one.rung, one.last_block);
  Json json{{"mode", plan.synthetic ? "synthetic" : "e2e"},
            {"world_size", one.world},
            {"per_device_batch_size", one.batch},
            {"seq_len", engine.model.tokens()},
            {"global_batch_size", one.batch * engine.grad_accum * one.world},
            {"grad_accum_steps", engine.grad_accum},
            {"warmup_steps", plan.warmup_steps},
            {"measure_steps", plan.measure_steps},
            {"repeat", plan.policy.runs},
            {"profile", plan.profile},
            {"mfu_estimator", to_string(plan.estimator)},
            {"dtype", to_string(one.regime)},
            {"model", engine.model.name},
            {"model_shape", train::to_json(engine.model)},
            {"device", engine.device},
            {"optimizer", engine.optimizer ? to_string(engine.update.kind) : "none"},
            {"compile", to_string(engine.rung)},
            {"last_block", to_string(one.last_block)},
            {"checkpoint_activations", engine.checkpointing},
            {"threads", engine.threads},
            {"mixup", plan.mix.mixup},  // also where it is off: a baseline must tell
            {"cutmix", plan.mix.cutmix},
            {"random_erasing", plan.input ? plan.input->random_erasing : 0.0}};
  if (!one.storage.empty()) json["storage"] = one.storage;
  return json;
}

std::string text_of(const Json& json, const std::string& fallback) {
  return json.is_string() ? json.get<std::string>() : fallback;
}

/// Of one device, in the type that is in force.
measure::Measured<double> peak_tflops_of(const Measured& one, const TrainingPlan& plan) {
  if (plan.peak_tflops) return {*plan.peak_tflops, ""};
  const std::string in_force = text_of(at(one.use->engine, "dtype"), to_string(one.regime));
  const auto peak = train::peak_tflops(
      text_of(at(one.use->engine, "device"), plan.engine.device),
      in_force != to_string(train::Regime::fp32) ? train::PeakType::bf16 : train::PeakType::fp32);
  if (peak) return {*peak, ""};
  return {std::nullopt, peak.error().message};
}

double samples_per_step(const Measured& one, const TrainingPlan& plan) {
  return static_cast<double>(one.batch) * plan.engine.grad_accum * one.world;
}

double tokens_per_step(const Measured& one, const TrainingPlan& plan) {
  return static_cast<double>(analysis::tokens_per_step(
      one.batch, one.world, plan.engine.model.tokens(), plan.engine.grad_accum));
}

/// By step, of all ranks together; nothing without a peak.
std::vector<double> mfu_of(const Measured& one, const TrainingPlan& plan,
                           const measure::Measured<double>& peak) {
  std::vector<double> list;
  if (!peak.value) return list;
  const double flop =
      train::step_flop(plan.engine.model, plan.estimator, samples_per_step(one, plan));
  for (const double seconds : one.use->step_s)
    list.push_back(train::mfu(flop, seconds, one.world, *peak.value));
  return list;
}

measure::Measured<double> mfu_p50_of(const Measured& one, const TrainingPlan& plan) {
  const measure::Measured<double> peak = peak_tflops_of(one, plan);
  const auto median = stats::median(mfu_of(one, plan, peak));
  if (median) return {*median, ""};
  return {std::nullopt, peak.reason};
}

analysis::TrainingFacts facts_of(const results::ResultFile& file, const TrainingPlan& plan,
                                 const Measured& one, const TrainingSurroundings& around) {
  const WatchedGpu& gpu = around.gpu;
  const train::ModelSpec& model = plan.engine.model;
  analysis::TrainingFacts facts;
  facts.run_config = config_json(plan, one);
  if (plan.input) {
    facts.run_config["recipe"] = plan.input->three_augment ? "three-augment" : "rrc224";
    facts.run_config["loader"] = to_string(plan.input->lanes);
    if (plan.others.empty() && !file.dataset.hash.empty())
      facts.run_config["input"] = file.dataset.hash;
  }
  facts.machine_profile = file.machine_profile;
  facts.env = env_json(file);
  facts.timestamp = utc_now();
  facts.use = *one.use;
  facts.samples_per_step = samples_per_step(one, plan);
  facts.tokens_per_step = tokens_per_step(one, plan);
  facts.step_flop = train::step_flop(model, plan.estimator, facts.samples_per_step);
  facts.six_nd_flop = train::step_flop(model, train::MfuEstimator::six_nd, facts.samples_per_step);
  facts.non_embedding_parameters = train::count_flops(model).non_embedding_parameters;
  facts.estimator = to_string(plan.estimator);
  const std::string in_force = text_of(at(one.use->engine, "dtype"), to_string(one.regime));
  facts.mixed_precision = in_force != to_string(train::Regime::fp32);
  facts.peak_tflops = peak_tflops_of(one, plan);
  facts.mfu = mfu_of(one, plan, facts.peak_tflops);
  if (one.row->peak_rss_bytes) facts.peak_rss_bytes = static_cast<double>(*one.row->peak_rss_bytes);
  facts.memory_total_bytes = gpu.use ? gpu.use->total_bytes : machine_memory();
  facts.gpu = gpu.use;
  facts.no_gpu = gpu.reason;
  facts.cores = usable_cores();
  facts.phases_by_device = plan.gpu_index >= 0;
  if (around.resumed)
    facts.first_step_s = {std::nullopt, "the run was resumed"};
  else if (file.rows.size() > 1)
    facts.first_step_s = {std::nullopt, "other rows were prepared before it"};
  else if (one.use->first_step_ns)
    facts.first_step_s = {seconds_since_start(*one.use->first_step_ns), ""};
  return facts;
}

/// How much of a step the GPU works by its events; nothing on a CPU.
std::optional<double> compute_use_of(const Measured& one, const TrainingPlan& plan) {
  if (plan.gpu_index < 0) return std::nullopt;
  analysis::TrainingFacts facts;
  facts.use = *one.use;
  facts.phases_by_device = true;
  const auto busy = analysis::gpu_busy(facts);
  return busy ? std::optional(busy->share) : std::nullopt;
}

std::vector<results::TrainingSweepLine> sweep_lines(const std::vector<Measured>& list,
                                                    const TrainingPlan& plan) {
  std::vector<results::TrainingSweepLine> lines;
  for (const Measured& one : list) {
    results::TrainingSweepLine& line = lines.emplace_back();
    line.batch = one.batch;
    line.dtype = to_string(one.regime);
    if (plan.rungs.size() > 1) line.compile = to_string(one.rung);
    if (plan.last_blocks.size() > 1) line.last_block = to_string(one.last_block);
    if (!one.storage.empty()) line.storage = one.storage;
    if (plan.world_size > 1) line.world_size = one.world;
    if (!one.use) {
      line.samples_per_s.reason =
          one.row != nullptr ? one.row->reason : "interrupted before it was measured";
      continue;
    }
    line.samples_per_s.value = one.samples_per_s;
    const double step_s = *stats::median(one.use->step_s);
    line.step_ms = step_s * 1e3;
    if (line.world_size) {
      line.steps_per_s = 1 / step_s;
      line.tokens_per_s = tokens_per_step(one, plan) / step_s;
      line.mfu_p50 = mfu_p50_of(one, plan);
    }
    for (const analysis::PhaseUse& phase : one.use->phases)
      line.phases_ms.emplace_back(phase.name, phase.seconds * 1e3);
    line.peak_bytes = one.use->peak_bytes;
    if (!one.use->losses.empty()) line.loss = one.use->losses.back();
    line.compute_use = compute_use_of(one, plan);
    line.cpu_use = analysis::cpu_use(*one.use, usable_cores()).value;
  }
  return lines;
}

/// Of the rows with the first type, last block and input at the highest rung.
results::BatchEstimates estimates_of(const std::vector<Measured>& list, const TrainingPlan& plan,
                                     double total_bytes) {
  constexpr const char* kFew = "two batch sizes that fit are needed";
  std::vector<analysis::BatchPoint> points;
  results::BatchEstimates estimates;
  for (const Measured& one : list) {
    if (one.regime != plan.regimes.front() || one.rung != plan.rungs.back() ||
        one.last_block != plan.last_blocks.front() || one.input != 0 || one.world != 1)
      continue;
    if (one.use && one.use->peak_bytes)
      points.push_back(
          {one.batch, *one.use->peak_bytes, one.samples_per_s, compute_use_of(one, plan)});
    else if (one.row != nullptr)
      estimates.lost.push_back(one.batch);
  }
  estimates.most.value = analysis::max_batch(points, total_bytes);
  if (!estimates.most.value) estimates.most.reason = kFew;
  if (points.size() > 1) estimates.best.value = analysis::best_batch(points);
  if (!estimates.best.value) estimates.best.reason = kFew;
  if (const auto critical = analysis::critical_batch(points)) {
    results::CriticalBatch& found = estimates.critical.value.emplace();
    found.batch = critical->batch;
    found.exceeds_tested = critical->exceeds_tested;
    for (const auto& [batch, efficiency] : critical->scaling_efficiency)
      found.scaling_efficiency.emplace_back(std::to_string(batch), efficiency);
  } else {
    estimates.critical.reason = kFew;
  }
  return estimates;
}

/// The line of the sweep that the best batch is of.
void mark_best(results::TrainingSummary& summary, const TrainingPlan& plan) {
  if (!summary.estimates->best.value) return;
  for (results::TrainingSweepLine& line : summary.sweep) {
    if (line.batch != summary.estimates->best.value->batch ||
        line.dtype != to_string(plan.regimes.front()) || !line.samples_per_s.value)
      continue;
    line.best = true;
    return;
  }
}

/// Of rows out of the first input, which is the bucket, the fastest; else `best`.
const Measured& bucket_row(const std::vector<Measured>& list, const Measured& best) {
  const Measured* found = nullptr;
  for (const Measured& one : list)
    if (one.use && one.input == 0 && (found == nullptr || one.samples_per_s > found->samples_per_s))
      found = &one;
  return found != nullptr ? *found : best;
}

/// fp32 beside the first other type, at the batch, rung, last block and input of `main`.
std::optional<analysis::AmpComparison> amp_of(const std::vector<Measured>& list,
                                              const Measured& main) {
  const Measured* plain = nullptr;
  const Measured* mixed = nullptr;
  for (const Measured& one : list) {
    if (one.batch != main.batch || one.rung != main.rung || one.last_block != main.last_block ||
        one.input != main.input || one.world != main.world || !one.use)
      continue;
    const Measured*& place = one.regime == train::Regime::fp32 ? plain : mixed;
    if (place == nullptr) place = &one;
  }
  if (plain == nullptr || mixed == nullptr) return std::nullopt;
  return analysis::compare_amp(*plain->row, *mixed->row);
}

/// Beside the samples per second of all ranks.
void put_rates(results::WorldScaling& scaling, const Measured& together, const TrainingPlan& plan) {
  scaling.tokens_per_s = tokens_per_step(together, plan) / *stats::median(together.use->step_s);
  scaling.mfu_p50 = mfu_p50_of(together, plan);
  scaling.mfu_estimator = to_string(plan.estimator);
}

/// One rank whose gradients pass through NCCL beside the same one without.
std::optional<results::WorldScaling> sync_alone_of(const results::ResultFile& file,
                                                   const TrainingPlan& plan,
                                                   const std::vector<Measured>& list) {
  const std::string name = training_case(plan, plan.regimes.front(), plan.batches.front(),
                                         plan.rungs.back(), plan.last_blocks.front(), "", 1, true);
  for (const Row& row : file.rows)
    if (row.case_name == name && !list.empty() && list.front().row != nullptr)
      return analysis::world_scaling(row, *list.front().row);
  return std::nullopt;
}

/// The fastest of several ranks beside one rank in the same settings.
std::optional<results::WorldScaling> scaling_of(const std::vector<Measured>& list,
                                                const TrainingPlan& plan) {
  const Measured* together = nullptr;
  for (const Measured& one : list)
    if (one.world > 1 && one.use &&
        (together == nullptr || one.samples_per_s > together->samples_per_s))
      together = &one;
  if (together == nullptr) return std::nullopt;
  for (const Measured& one : list)
    if (one.world == 1 && one.use && one.batch == together->batch &&
        one.regime == together->regime && one.rung == together->rung &&
        one.last_block == together->last_block && one.input == together->input) {
      auto scaling = analysis::world_scaling(*together->row, *one.row);
      if (scaling) put_rates(*scaling, *together, plan);
      return scaling;
    }
  return std::nullopt;
}

/// A step of a loop that never waits for the device; absent where none was timed.
std::optional<double> queued_step_ms(const Row& row, const TrainingUse& use) {
  const Json& details = row.runs[use.best_run].details;
  if (!details.is_array()) return std::nullopt;
  for (const Json& one : details)
    if (const Json& found = at(one, "queued_step_ns"); found.is_number())
      return found.get<double>() * 1e-6;
  return std::nullopt;
}

std::vector<results::TrainingLibrary> library_lines(const results::ResultFile& file,
                                                    const TrainingPlan& plan,
                                                    const TrainingAnchors& anchors) {
  std::vector<results::TrainingLibrary> lines;
  for (const Row& row : file.rows) {
    results::TrainingLibrary& line = lines.emplace_back();
    line.case_name = row.case_name;
    line.library = row.library;
    line.version = row.library_version;
    line.status = to_string(row.status);
    line.reason = row.status != measure::RowStatus::ok ? row.reason : "";
    if (const auto use = analysis::training_use(row)) {
      const double step_s = *stats::median(use->step_s);
      line.step_p50_ms = step_s * 1e3;
      line.samples_per_s = static_cast<double>(row.items_per_sample) / step_s;
      if (use->engine.is_object()) line.engine = use->engine;
      line.peak_bytes = use->peak_bytes;
      line.queued_step_ms = queued_step_ms(row, *use);
      line.model_flop = train::step_flop(plan.engine.model, train::MfuEstimator::shapes,
                                         static_cast<double>(row.items_per_sample));
      line.executed_flop = use->executed_flop;
      line.driver_peak_bytes = use->driver_peak_bytes;
    }
    if (const auto anchor = check_anchor(row, plan, anchors)) line.anchor = record_of(*anchor);
    line.peak_rss_bytes = row.peak_rss_bytes;
  }
  return lines;
}

/// Peaks over the runs of a row, as its worker told them: allocated, and taken from the device.
std::optional<measure::GpuMemory> gpu_memory_of(const Row& row) {
  const auto bytes = [](const Json& one, const char* key) {
    const Json& found = at(one, key);
    return found.is_number() ? found.get<std::int64_t>() : std::int64_t{0};
  };
  measure::GpuMemory most;
  for (const measure::Run& run : row.runs) {
    if (!run.details.is_array()) continue;
    for (const Json& one : run.details) {
      const std::int64_t allocated = bytes(one, "peak_bytes");
      // PyTorch tells what its allocator has reserved; ours takes from the driver what it needs.
      std::int64_t reserved = bytes(one, "reserved_bytes");
      if (reserved == 0) reserved = bytes(one, "driver_peak_bytes");
      most.peak_allocated_bytes = std::max(most.peak_allocated_bytes, allocated);
      most.peak_reserved_bytes =
          std::max({most.peak_reserved_bytes, reserved, reserved == 0 ? allocated : 0});
    }
  }
  if (most.peak_allocated_bytes == 0) return std::nullopt;
  return most;
}

std::string limit_of(const TrainingUse& use) {
  const auto most = std::max_element(use.phases.begin(), use.phases.end(),
                                     [](const analysis::PhaseUse& a, const analysis::PhaseUse& b) {
                                       return a.seconds < b.seconds;
                                     });
  return most != use.phases.end() ? most->name : "";
}

std::optional<results::EpochEstimate> epoch_of(const Measured& one, const TrainingPlan& plan,
                                               const InputFacts& input) {
  const auto seconds = analysis::epoch_estimate(*one.row, static_cast<double>(input.items));
  if (!seconds) return std::nullopt;
  return results::EpochEstimate{.sample_ratio = plan.input->sample_ratio,
                                .samples = input.items,
                                .seconds = *seconds,
                                .in_minutes = true,
                                .batches = input.items / static_cast<std::uint64_t>(one.batch)};
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
  fail_slow_peers(file, plan, around.anchors);
  for (Row& row : file.rows)
    if (plan.gpu_index >= 0 && !row.gpu_memory) row.gpu_memory = gpu_memory_of(row);
  const std::vector<Measured> list = our_rows(file, plan, around.storages);
  const Measured* best = nullptr;
  for (const Measured& one : list)
    if (one.use && (best == nullptr || one.samples_per_s > best->samples_per_s)) best = &one;
  results::TrainingSummary& summary = file.training_summary.emplace();
  summary.libraries = library_lines(file, plan, around.anchors);
  const double total_bytes = around.gpu.use ? around.gpu.use->total_bytes : machine_memory();
  if (list.size() > 1) summary.sweep = sweep_lines(list, plan);
  summary.scaling = scaling_of(list, plan);
  if (plan.sync_alone) summary.scaling = sync_alone_of(file, plan, list);
  summary.peer_scaling = analysis::peer_scaling(file.rows);
  if (plan.swept) {
    summary.estimates = estimates_of(list, plan, total_bytes);
    mark_best(summary, plan);
  }
  file.peer_ratios = analysis::peer_ratios(file);
  if (best == nullptr) return;
  const analysis::TrainingFacts facts = facts_of(file, plan, *best, around);
  const auto amp = amp_of(list, *best);
  results::TrainingMetrics& metrics = file.training.emplace(analysis::training_metrics(facts));
  put_machine(metrics, file);
  if (plan.input && plan.input->remote)
    metrics.cloud = analysis::training_cloud(*bucket_row(list, *best).row, around.downloads);
  if (const auto program = own_digest()) metrics.program = *program;
  if (amp)
    metrics.amp = {metrics.amp.enabled, amp->speedup, amp->memory_saving, amp->loss_difference};
  summary.targets = analysis::training_targets(facts, amp);
  summary.indicators = analysis::training_indicators(facts);
  summary.recommendations = analysis::training_recommendations(
      facts, {.cuda = plan.gpu_index >= 0, .loads = plan.input.has_value()});
  if (best->input < around.inputs.size())
    summary.epoch = epoch_of(*best, plan, around.inputs[best->input]);
  summary.limit = limit_of(facts.use);
}

}  // namespace sluice::visit
