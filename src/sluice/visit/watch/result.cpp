// sluice/visit/watch/result.cpp - one row in, metrics and text out; nothing is measured here.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/watch/result.h"

#include "sluice/analysis/training_metrics.h"
#include "sluice/core/text.h"
#include "sluice/core/utc.h"
#include "sluice/measure/summary.h"
#include "sluice/report/torch_line.h"
#include "sluice/stats/summary.h"
#include "sluice/visit/canary_run.h"
#include "sluice/visit/training/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::visit {
namespace {

constexpr const char* kWaitingPhase = "data";  // as marks.wrap(loader) calls it
constexpr const char* kNoFlop = "the program reported no FLOP: marks.log(flop=...) tells them";
constexpr const char* kNoPeak =
    "the peak of the device for the program's number format is not known; give --peak-tflops";
constexpr const char* kNotCounted = "the model of a watched program is not known";
constexpr const char* kNoLoss = "the program reported no loss: marks.log(loss=...) tells it";
constexpr const char* kNoMemory =
    "the program reported no memory of a device: marks.device(torch.cuda) does";

const Json& details_of(const measure::Run& run) {
  static const Json kNone;
  return run.details.is_array() && !run.details.empty() ? run.details.front() : kNone;
}

/// Versions that the program reported, of the first run that told them.
const Json& framework_of(const measure::Row& row) {
  static const Json kNone;
  for (const measure::Run& run : row.runs)
    if (const Json& found = at(details_of(run), "framework"); found.is_object()) return found;
  return kNone;
}

Json env_json(const Json& environment, const Json& framework) {
  Json json = metrics_env_json(environment);
  for (const char* name : {"torch", "python"}) {
    const std::string key = std::string(name) + "_version";
    json[key] = at(framework, name);
    if (json[key].is_null())
      json[key + "_reason"] = fmt::format("the program's marks do not tell of {}", name);
  }
  if (at(framework, "cuda").is_string()) json["cuda_version"] = framework["cuda"];
  return json;
}

/// What a step counts, from the marks where they tell, else from the plan, else one.
struct StepCount {
  double mean = 1;  // rounded, so that who computes it again from the file has the same
  bool reported = false, varies = false;
};
StepCount count_of(const std::vector<double>& reported, double given) {
  if (reported.empty()) return {given};
  const auto [least, most] = std::ranges::minmax(reported);
  const double mean = std::max(std::round(*stats::mean(reported)), 1.0);
  return {mean, true, least != most};
}

std::string counted_text(const WatchPlan& plan, const StepCount& samples, const StepCount& tokens) {
  if (samples.varies || tokens.varies)
    return "as the program reports them; they vary from step to step";
  if (samples.reported || tokens.reported) return "as the program reports them";
  if (plan.samples_per_step > 0 || plan.tokens_per_step > 0) return "as given";
  return "steps: none were reported and no --samples-per-step was given, so each counts as one";
}

/// The keys of the schema; what only the program knows is named so. Of what varies from step to
/// step the batch is 0.
Json config_json(const WatchPlan& plan, const analysis::TrainingFacts& facts,
                 const StepCount& samples, const StepCount& tokens, const Json& details) {
  const auto batch = samples.varies ? 0 : static_cast<std::int64_t>(samples.mean);
  const bool varies = samples.varies || tokens.varies;
  const Json& clock = at(details, "step_clock");
  return Json{{"mode", "watch"},
              {"world_size", 1},
              {"per_device_batch_size", batch},
              {"seq_len", varies ? 0 : static_cast<std::int64_t>(tokens.mean / samples.mean)},
              {"global_batch_size", batch},
              {"grad_accum_steps", 1},
              {"warmup_steps", plan.warmup},
              {"measure_steps", facts.use.step_s.size()},
              {"repeat", plan.runs},
              {"profile", "off"},
              {"mfu_estimator", facts.estimator},
              {"dtype", "unknown"},
              {"model", plan.name},
              {"device", plan.gpu_index >= 0 ? fmt::format("cuda:{}", plan.gpu_index) : "cpu"},
              {"program", plan.command},
              {"step_clock", clock.is_string() ? clock.get<std::string>() : "host"},
              {"counted", counted_text(plan, samples, tokens)}};
}

void put_flop(analysis::TrainingFacts& facts, const WatchPlan& plan) {
  const std::vector<double>& flop = facts.use.step_flop;
  facts.estimator = flop.empty() ? "none" : "reported";
  facts.peak_tflops = {plan.peak_tflops, plan.peak_tflops ? "" : kNoPeak};
  if (flop.empty()) {
    facts.peak_tflops = {plan.peak_tflops, kNoFlop};
    return;
  }
  facts.step_flop = *stats::mean(flop);
  if (!plan.peak_tflops) return;
  for (std::size_t i = 0; i < flop.size(); ++i)
    facts.mfu.push_back(flop[i] / facts.use.step_s[i] / 1e12 / *plan.peak_tflops);
}

analysis::TrainingFacts facts_of(const results::ResultFile& file, const WatchPlan& plan,
                                 analysis::TrainingUse use, const WatchedGpu& gpu) {
  const measure::Row& row = file.rows.front();
  const Json& details = details_of(row.runs[use.best_run]);
  analysis::TrainingFacts facts;
  facts.machine_profile = file.machine_profile;
  facts.env = env_json(file.environment, framework_of(row));
  facts.timestamp = utc_now();
  facts.use = std::move(use);
  const StepCount samples =
      count_of(facts.use.step_samples,
               static_cast<double>(std::max<std::int64_t>(plan.samples_per_step, 1)));
  const StepCount tokens =
      count_of(facts.use.step_tokens,
               plan.tokens_per_step > 0 ? static_cast<double>(plan.tokens_per_step) : samples.mean);
  facts.samples_per_step = samples.mean;
  facts.tokens_per_step = tokens.mean;
  put_flop(facts, plan);
  facts.run_config = config_json(plan, facts, samples, tokens, details);
  if (row.peak_rss_bytes) facts.peak_rss_bytes = static_cast<double>(*row.peak_rss_bytes);
  const Json& total = at(at(file.environment, "memory"), "total_bytes");
  facts.memory_total_bytes = gpu.use             ? gpu.use->total_bytes
                             : total.is_number() ? total.get<double>()
                                                 : 0;
  facts.gpu = gpu.use;
  facts.no_gpu = gpu.reason;
  return facts;
}

/// The reasons of a library become those of a program that can be told what to do.
void put_reasons(results::TrainingMetrics& metrics, const analysis::TrainingUse& use) {
  auto& mfu = metrics.mfu;
  for (auto* figure : {&mfu.executed_flop_per_step, &mfu.executed_tflops_p50, &mfu.executed_p50,
                       &mfu.six_nd_flop_per_step, &mfu.six_nd_p50})
    *figure = {std::nullopt, kNotCounted};
  if (use.step_flop.empty()) mfu.flop_per_step = mfu.achieved_tflops_p50 = {std::nullopt, kNoFlop};
  if (use.losses.empty()) {
    metrics.loss.last = metrics.loss.slope = {std::nullopt, kNoLoss};
    metrics.loss_finite.reason = kNoLoss;
  }
  auto& memory = metrics.memory;
  for (auto* figure : {&memory.peak_allocated_bytes, &memory.peak_allocated_gb,
                       &memory.peak_reserved_bytes, &memory.peak_reserved_gb})
    if (!figure->value) figure->reason = kNoMemory;
}

/// How much of the runs the marks speak of.
std::string coverage_text(const measure::Row& row) {
  const auto share = analysis::marked_share(row);
  if (!share) return {};
  return fmt::format(
      "marked steps cover {:.3g} % of the time that the program ran{}\n", 100 * *share,
      *share < analysis::kLittleMarked ? ": what it did outside them is not measured" : "");
}

/// What the program reported of its steps; nothing where it reported nothing.
std::string values_text(const results::TrainingMetrics& metrics, const measure::Row& row) {
  std::string out;
  const auto& losses = metrics.loss.values;
  if (losses && !losses->empty())
    out += fmt::format("loss {:.5g} to {:.5g} in {} reported\n", losses->front(), losses->back(),
                       losses->size());
  if (const auto& flop = metrics.mfu.achieved_tflops_p50.value) {
    out += fmt::format("{:.4g} TFLOP/s", *flop);
    if (const auto& mfu = metrics.mfu.p50.value) out += fmt::format(", MFU {:.3g} %", 100 * *mfu);
    out += "\n";
  }
  if (const auto& peak = metrics.memory.peak_allocated_gb.value)
    out += fmt::format("peak memory of the device {:.3f} GiB\n", *peak);
  if (string_at(metrics.config.other, "step_clock") == "device")
    out += "steps are timed by the clock of the device\n";
  if (const Json& torch = at(framework_of(row), "torch"); torch.is_string())
    out += fmt::format("torch {}\n", printable(torch.get<std::string>()));
  return out;
}

/// Records that nobody can use are a mistake in the program, and are not passed over.
std::string skipped_text(const measure::Row& row) {
  std::int64_t skipped = 0;
  for (const measure::Run& run : row.runs)
    if (const Json& found = at(details_of(run), "skipped_records"); found.is_number_integer())
      skipped += found.get<std::int64_t>();
  if (skipped == 0) return {};
  return fmt::format(
      "{} record{} of the marks make no sense and {} left out: a value that is no "
      "single number, a negative count, a torn record\n",
      skipped, skipped == 1 ? "" : "s", skipped == 1 ? "was" : "were");
}

/// The same run in the three numbers that commands judge it by, each by its name.
std::string rates_text(const measure::Row& row, const analysis::TrainingUse& use) {
  const auto items = static_cast<double>(row.items_per_sample);
  const auto over_runs = stats::geometric_mean(measure::run_rates(row));
  const auto line = [&](const char* name, double rate, const char* where) {
    return fmt::format("  {:<34} {:>10.6g} {}{}\n", name, rate, row.unit, where);
  };
  std::string out = line("median over runs", row.summary->median, "  (report)");
  if (over_runs) out += line("geometric mean over runs", *over_runs, "  (compare)");
  return out + line("best run, by its median step", items / *stats::median(use.step_s), "  (gate)");
}

}  // namespace

void count_in_samples(measure::Row& row, const WatchPlan& plan) {
  std::optional<double> samples;
  bool same = true;
  bool told = false;
  for (const measure::Run& run : row.runs) {
    const Json& list = at(details_of(run), "step_samples");
    same = same && list.is_array();
    told = told || list.is_array() || details_of(run).contains("step_samples_missing");
    if (!list.is_array()) continue;
    for (const Json& one : list) {
      same = same && one.get<double>() == samples.value_or(one.get<double>());
      samples = one.get<double>();
    }
  }
  const bool whole = samples && *samples >= 1 && *samples == std::round(*samples);
  row.items_per_sample = 1;
  if (told && same && whole)
    row.items_per_sample = static_cast<std::int64_t>(*samples);
  else if (!told)
    row.items_per_sample = std::max<std::int64_t>(plan.samples_per_step, 1);
  row.unit =
      (told && same && whole) || (!told && plan.samples_per_step > 0) ? "samples/s" : "steps/s";
}

void conclude_watch(results::ResultFile& file, const WatchPlan& plan, const WatchedGpu& gpu) {
  const measure::Row& row = file.rows.front();
  if (row.status != measure::RowStatus::ok) return;  // no gate may believe it
  auto use = analysis::training_use(row);
  if (!use) return;
  const analysis::TrainingFacts facts = facts_of(file, plan, std::move(*use), gpu);
  results::TrainingMetrics& metrics = file.training.emplace(analysis::training_metrics(facts));
  put_reasons(metrics, facts.use);
  put_machine(metrics, file);
}

std::string watch_text(const results::ResultFile& file) {
  const measure::Row& row = file.rows.front();
  const auto use = analysis::training_use(row);
  if (!use) return {};
  const double step = *stats::median(use->step_s);
  std::string out = fmt::format("{}: {} steps in {} run{}, median {:.3f} ms, p90 {:.3f} ms\n",
                                printable(row.case_name), row.summary ? row.summary->n_samples : 0,
                                row.runs.size(), row.runs.size() == 1 ? "" : "s", step * 1e3,
                                *stats::percentile(use->step_s, 90) * 1e3);
  if (row.summary) out += rates_text(row, *use);
  if (file.training) out += values_text(*file.training, row);
  out += skipped_text(row) + coverage_text(row);
  if (use->phases.empty()) return out + "no phases were marked\n";
  out += fmt::format("\n{:<26} {:>10} {:>9}\n", "phase", "ms/step", "of step");
  double sum = 0, waiting = 0;
  for (const analysis::PhaseUse& phase : use->phases) {
    sum += phase.seconds;
    if (phase.name == kWaitingPhase) waiting += phase.seconds;
    out += fmt::format("{:<26} {:>10.3f} {:>7.1f} %\n", printable(phase.name), phase.seconds * 1e3,
                       phase.seconds / step * 100);
  }
  out += fmt::format("{:<26} {:>10.3f} {:>7.1f} %\n", "not in a phase", (step - sum) * 1e3,
                     (step - sum) / step * 100);
  return out + report::waiting_advice(waiting / step);
}

}  // namespace sluice::visit
