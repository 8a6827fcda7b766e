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

namespace sluice::visit {
namespace {

constexpr const char* kWaitingPhase = "data";  // as marks.wrap(loader) calls it
constexpr const char* kNotKnown = "the model of a watched program is not known";

Json env_json(const Json& environment) {
  Json json = metrics_env_json(environment);
  for (const char* key : {"torch_version", "python_version"})
    json[std::string(key) + "_reason"] = "not asked of a watched program";
  return json;
}

/// The keys of the schema; what only the program knows is named so.
Json config_json(const WatchPlan& plan, const analysis::TrainingFacts& facts) {
  const auto samples = static_cast<std::int64_t>(facts.samples_per_step);
  return Json{
      {"mode", "watch"},
      {"world_size", 1},
      {"per_device_batch_size", samples},
      {"seq_len", static_cast<std::int64_t>(facts.tokens_per_step / facts.samples_per_step)},
      {"global_batch_size", samples},
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
      {"counted", plan.samples_per_step > 0 || plan.tokens_per_step > 0
                      ? "as given"
                      : "steps: no --samples-per-step was given, so each counts as one"}};
}

analysis::TrainingFacts facts_of(const results::ResultFile& file, const WatchPlan& plan,
                                 analysis::TrainingUse use, const WatchedGpu& gpu) {
  analysis::TrainingFacts facts;
  facts.machine_profile = file.machine_profile;
  facts.env = env_json(file.environment);
  facts.timestamp = utc_now();
  facts.use = std::move(use);
  facts.samples_per_step = static_cast<double>(std::max<std::int64_t>(plan.samples_per_step, 1));
  facts.tokens_per_step =
      plan.tokens_per_step > 0 ? static_cast<double>(plan.tokens_per_step) : facts.samples_per_step;
  facts.estimator = "none";
  facts.peak_tflops = {std::nullopt, kNotKnown};
  facts.run_config = config_json(plan, facts);
  const measure::Row& row = file.rows.front();
  if (row.peak_rss_bytes) facts.peak_rss_bytes = static_cast<double>(*row.peak_rss_bytes);
  const Json& total = at(at(file.environment, "memory"), "total_bytes");
  facts.memory_total_bytes = gpu.use             ? gpu.use->total_bytes
                             : total.is_number() ? total.get<double>()
                                                 : 0;
  facts.gpu = gpu.use;
  facts.no_gpu = gpu.reason;
  return facts;
}

/// How much of the runs the marks speak of.
std::string coverage_text(const measure::Row& row) {
  const auto share = analysis::marked_share(row);
  if (!share) return {};
  return fmt::format(
      "marked steps cover {:.3g} % of the time that the program ran{}\n", 100 * *share,
      *share < analysis::kLittleMarked ? ": what it did outside them is not measured" : "");
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

void conclude_watch(results::ResultFile& file, const WatchPlan& plan, const WatchedGpu& gpu) {
  const measure::Row& row = file.rows.front();
  if (row.status != measure::RowStatus::ok) return;  // no gate may believe it
  auto use = analysis::training_use(row);
  if (!use) return;
  results::TrainingMetrics& metrics =
      file.training.emplace(analysis::training_metrics(facts_of(file, plan, std::move(*use), gpu)));
  auto& mfu = metrics.mfu;
  for (auto* figure :
       {&mfu.flop_per_step, &mfu.achieved_tflops_p50, &mfu.executed_flop_per_step,
        &mfu.executed_tflops_p50, &mfu.executed_p50, &mfu.six_nd_flop_per_step, &mfu.six_nd_p50})
    *figure = {std::nullopt, kNotKnown};
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
  out += coverage_text(row);
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
