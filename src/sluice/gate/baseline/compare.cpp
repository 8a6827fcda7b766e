// sluice/gate/baseline/compare.cpp - one function per kind of row; nothing is read or measured
// here.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/compare.h"

#include "sluice/analysis/training_use.h"
#include "sluice/core/text.h"
#include "sluice/gate/baseline/workload.h"
#include "sluice/gate/compare/training_work.h"
#include "sluice/results/eval_file.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string_view>

namespace sluice::gate {
namespace {

/// A figure of one side: its value, or why there is none.
struct Figure {
  std::optional<double> value;
  bool broken = false;  // not a finite number, and nothing says why
  std::string reason;
};

Figure figure_of(const results::TrainingMetrics::Figure& found, bool required) {
  if (found.value)
    return {found.value, !std::isfinite(*found.value),
            std::isfinite(*found.value) ? "" : "it is not finite"};
  if (found.reason.empty())
    return {std::nullopt, true, "it is no number, and nothing says why; NaN is written so"};
  const bool missing = found.reason == results::kMissingKey;
  return {std::nullopt, required && missing, printable(found.reason)};
}

Figure figure_of(const Json& value, const Json& why) {
  if (value.is_number()) return figure_of({value.get<double>(), ""}, false);
  return figure_of({std::nullopt, value.is_null() && why.is_string() ? why.get<std::string>() : ""},
                   false);
}

GateLine skipped(std::string metric, std::string reason) {
  GateLine line;
  line.metric = std::move(metric);
  line.reason = std::move(reason);
  return line;
}

/// How a row is judged.
struct Rule {
  std::string metric;
  LineKind kind;
  std::string unit{};
  int worse = 1;  // the sign of a change for the worse
  double tolerance = 0;
  bool points = false;  // the change is absolute, times 100
  GateStatus tripped = GateStatus::fail;
  bool required = false;  // a file without it is broken
};

std::string threshold_text(const Rule& rule) {
  return fmt::format("at most {} {} {}", rule.tolerance, rule.points ? "points" : "%",
                     rule.worse > 0 ? "more" : "less");
}

/// Sets status and reason from the delta that stands in the line.
void judge_line(GateLine& line, double harm, double tolerance, GateStatus tripped) {
  const bool trips = harm > tolerance + kToleranceEpsilon;
  line.status = trips ? tripped : GateStatus::pass;
  const std::string unit = line.delta_unit.empty() ? "" : " " + line.delta_unit;
  const char* way = *line.delta > 0 ? "rose" : "fell";
  line.reason = *line.delta == 0 ? "unchanged"
                                 : fmt::format("{} by {:.2f}{}, {}", way, std::abs(*line.delta),
                                               unit, trips ? "over the tolerance" : "within it");
  if (std::isinf(*line.delta)) line.reason = "rose from 0";
}

GateLine compare_figures(const Rule& rule, const Figure& base, const Figure& now) {
  GateLine line = skipped(rule.metric, "");
  line.unit = rule.unit;
  line.baseline = base.value;
  line.current = now.value;
  line.threshold = threshold_text(rule);
  line.kind = rule.kind;
  if (rule.worse < 0) line.better = measure::Better::higher;
  if (!rule.points) line.tolerance_pct = rule.tolerance;
  line.delta_unit = rule.points ? "points" : "%";
  line.blocking = rule.tripped == GateStatus::fail;
  if (now.broken) {
    line.status = GateStatus::invalid;
    line.reason = "current: " + now.reason;
    return line;
  }
  if (!now.value || !base.value || base.broken) {
    line.reason = !now.value ? "current: " + now.reason : "baseline: " + base.reason;
    return line;
  }
  line.delta = rule.points ? (*now.value - *base.value) * 100 : delta_pct(*base.value, *now.value);
  judge_line(line, rule.worse * *line.delta, rule.tolerance, rule.tripped);
  return line;
}

/// Losses of a watched program are of other batches at every step: they scatter, and rise only
/// where the slope exceeds its limit by more than that explains. Empty: it does.
std::string within_scatter(const results::TrainingMetrics& metrics, double excess) {
  constexpr std::size_t kFewest = 10;
  constexpr double kErrors = 3;  // one false alarm in about 700 of a loss that stands still
  if (metrics.config.mode != "watch" || !metrics.loss.values) return {};
  const std::vector<double>& values = *metrics.loss.values;
  const auto over_index = analysis::loss_slope(values);
  const auto error = analysis::loss_slope_error(values);
  if (values.size() < kFewest || !over_index || !error)
    return fmt::format("{} losses are too few to tell whether they rise", values.size());
  // Where not every step has one, the slope is per step and the error per loss.
  const double error_per_step =
      *over_index != 0 ? *error * std::abs(*metrics.loss.slope.value / *over_index) : *error;
  if (excess > kErrors * error_per_step) return {};
  return fmt::format("the loss rises no more than it scatters ({:.2g} per step)", error_per_step);
}

/// The slope itself is judged; the baseline is only shown.
GateLine compare_slope(const results::TrainingMetrics& baseline,
                       const results::TrainingMetrics& current, double threshold) {
  const Figure base = figure_of(baseline.loss.slope, false);
  const Figure now = figure_of(current.loss.slope, false);
  GateLine line = skipped("loss_slope", "");
  line.kind = LineKind::quality;
  line.unit = "per step";
  line.baseline = base.value;
  line.current = now.value;
  line.threshold = fmt::format("at most {:+}", threshold);
  if (!now.value) {
    line.reason = "current: " + (now.reason.empty() ? "no loss" : now.reason);
    return line;
  }
  if (now.broken) {
    line.status = GateStatus::invalid;
    line.reason = "current: " + now.reason;
    return line;
  }
  if (base.value) line.delta = *now.value - *base.value;
  const bool rises = *now.value > threshold + kToleranceEpsilon;
  line.status = rises ? GateStatus::fail : GateStatus::pass;
  line.reason = rises ? "the loss rises" : "the loss does not rise";
  if (!rises) return line;
  if (std::string why = within_scatter(current, *now.value - threshold); !why.empty()) {
    line.status = GateStatus::pass;
    line.reason = std::move(why);
  }
  return line;
}

void add_metrics(GateReport& report, const results::TrainingMetrics& current,
                 const results::TrainingMetrics& baseline, const Tolerances& t) {
  using results::TrainingMetrics;
  const auto add = [&](auto figure, const Rule& rule) {
    report.lines.push_back(compare_figures(rule, figure_of(figure(baseline), false),
                                           figure_of(figure(current), rule.required)));
  };
  const JudgedRate rate = judged_rate(current);
  const bool tokens = rate.metric == std::string_view(JudgedRate{}.metric);
  add(
      [&](const TrainingMetrics& of) {
        return tokens ? of.throughput.tokens_p50 : of.throughput.samples_p50;
      },
      {.metric = rate.metric,
       .kind = LineKind::best_run,
       .unit = rate.unit,
       .worse = -1,
       .tolerance = t.throughput_drop_pct,
       .required = true});
  add([](const TrainingMetrics& of) { return of.timing.p50; },
      {.metric = "step_time_p50_s",
       .kind = LineKind::best_run,
       .unit = "s",
       .tolerance = t.step_time_increase_pct,
       .required = true});
  if (t.step_time_p90_increase_pct)
    add([](const TrainingMetrics& of) { return of.timing.p90; },
        {.metric = "step_time_p90_s",
         .kind = LineKind::tail,
         .unit = "s",
         .tolerance = *t.step_time_p90_increase_pct,
         .required = true});
  add([](const TrainingMetrics& of) { return of.memory.peak_allocated_bytes; },
      {.metric = "peak_allocated_bytes",
       .kind = LineKind::memory,
       .unit = "bytes",
       .tolerance = t.memory_increase_pct,
       .tripped = GateStatus::warn});
}

GateLine missing_probe(const std::string& name, const Json& baseline) {
  GateLine line = skipped("probe/" + name, "the probe is missing in the current results");
  line.kind = LineKind::quality;
  if (baseline.is_number()) line.baseline = baseline.get<double>();
  line.status = GateStatus::warn;
  line.blocking = false;
  return line;
}

void add_eval(GateReport& report, const RunFiles& current, const RunFiles& baseline,
              const Tolerances& t) {
  if (!baseline.eval) {
    report.lines.push_back(skipped("ppl_fixed_shard", "there is no stored eval.json"));
    return;
  }
  const auto perplexity = [](const Json& eval, bool required) {
    if (!eval.contains("ppl_fixed_shard"))
      return Figure{std::nullopt, required, results::kMissingKey};
    return figure_of(at(eval, "ppl_fixed_shard"), at(eval, "ppl_fixed_shard_reason"));
  };
  report.lines.push_back(compare_figures({.metric = "ppl_fixed_shard",
                                          .kind = LineKind::quality,
                                          .tolerance = t.ppl_increase_pct,
                                          .required = true},
                                         perplexity(*baseline.eval, false),
                                         perplexity(*current.eval, true)));
  const Json& stored = at_pointer(*baseline.eval, "/task_probe_accuracy");
  const Json& now = at_pointer(*current.eval, "/task_probe_accuracy");
  if (!stored.is_object()) return;
  for (const auto& [name, accuracy] : stored.items()) {
    if (!now.is_object() || !now.contains(name)) {
      report.lines.push_back(missing_probe(printable(name), accuracy));
      continue;
    }
    report.lines.push_back(compare_figures({.metric = "probe/" + printable(name),
                                            .kind = LineKind::quality,
                                            .unit = "accuracy",
                                            .worse = -1,
                                            .tolerance = t.probe_drop_abs,
                                            .points = true},
                                           figure_of(accuracy, Json()),
                                           figure_of(now[name], Json())));
  }
  if (!now.is_object()) return;
  for (const auto& [name, accuracy] : now.items()) {
    if (!stored.contains(name))
      report.lines.push_back(skipped("probe/" + printable(name), "the baseline has no such probe"));
  }
}

/// A step that leaves out what the other computes is no faster program.
std::optional<GateLine> other_work(const RunFiles& current, const RunFiles& baseline) {
  const std::string now = last_block_of(*current.metrics);
  const std::string stored = last_block_of(*baseline.metrics);
  if (now.empty() || stored.empty() || now == stored) return std::nullopt;
  return skipped("last_block",
                 fmt::format("{}: the baseline computes the last block '{}', the run '{}'; only "
                             "equal work is compared (--last-block)",
                             printable(baseline.name), printable(stored), printable(now)));
}

/// Numbers of another model, batch or text say nothing about this program.
std::optional<GateLine> other_workload(const RunFiles& current, const RunFiles& baseline,
                                       CompareScope scope) {
  std::vector<std::string> found;
  if (scope.bench && baseline.metrics)
    found = differences(workload_of(*baseline.metrics), workload_of(*current.metrics));
  if (scope.eval && baseline.eval)
    for (std::string& one : differences(workload_of(*baseline.eval), workload_of(*current.eval)))
      found.push_back(std::move(one));
  if (found.empty()) return std::nullopt;
  return skipped("workload", fmt::format("{}: the baseline is of other work: {}; only equal work "
                                         "is compared, promote a run of this one",
                                         printable(baseline.name), join(found)));
}

/// One line where both have an MFU that means another thing; it is compared nowhere.
void add_estimator(GateReport& report, const RunFiles& current, const RunFiles& baseline) {
  const std::string now = estimator_of(*current.metrics);
  const std::string stored = estimator_of(*baseline.metrics);
  if (now.empty() || stored.empty() || now == stored) return;
  report.lines.push_back(
      skipped("mfu_p50", fmt::format("the baseline counts FLOP by '{}', the run by '{}'; their MFU "
                                     "are not compared (--mfu-estimator)",
                                     printable(stored), printable(now))));
}

/// Why nothing can be compared, as the report's only line; nothing: it can.
std::optional<GateLine> obstacle_to_comparison(const RunFiles& current, const RunFiles& baseline,
                                               CompareScope scope) {
  const auto missing = [&](const char* file) {
    GateLine line = skipped(file, fmt::format("{}: no {}, the run left no current results",
                                              printable(current.name), file));
    line.status = GateStatus::fail;
    return line;
  };
  if (scope.bench && !current.metrics) return missing("metrics.json");
  if (scope.eval && !current.eval) return missing("eval.json");
  if (scope.bench ? !baseline.metrics : !baseline.eval)
    return skipped("baseline",
                   fmt::format("{}: no baseline for machine profile {}; `sluice baseline promote "
                               "RUN` makes a run the baseline",
                               printable(baseline.name), printable(current.machine_profile())));
  const std::string stored = baseline.machine_profile();
  if (stored != current.machine_profile())
    return skipped("machine_profile",
                   fmt::format("{}: the baseline is of machine profile '{}', the run of '{}'; only "
                               "equal machines are compared",
                               printable(baseline.name), printable(stored),
                               printable(current.machine_profile())));
  const auto other_schema = [&](const std::string& found, const char* schema,
                                const char* name) -> std::optional<GateLine> {
    if (found == schema) return std::nullopt;
    return skipped("schema_version",
                   fmt::format("{}: {} is of schema '{}', expected '{}'; promote a run of this "
                               "version",
                               printable(baseline.name), name, printable(found), schema));
  };
  std::optional<GateLine> line;
  if (scope.bench && baseline.metrics) line = other_work(current, baseline);
  if (!line) line = other_workload(current, baseline, scope);
  if (!line && scope.bench && baseline.metrics)
    line = other_schema(baseline.metrics->schema_version, results::kTrainingSchema, "metrics.json");
  if (!line && scope.eval && baseline.eval)
    line = other_schema(string_at(*baseline.eval, "schema_version"), results::kEvalSchema,
                        "eval.json");
  return line;
}

}  // namespace

JudgedRate judged_rate(const results::TrainingMetrics& metrics) {
  const auto& rate = metrics.throughput;
  const bool watched = metrics.config.mode == "watch";
  if (!watched || rate.tokens_per_step != rate.samples_per_step) return {};
  const bool steps = string_at(metrics.config.other, "counted").starts_with("steps");
  return {"samples_per_sec_p50", steps ? "steps/s" : "samples/s"};
}

std::string RunFiles::machine_profile() const {
  if (metrics && !metrics->machine_profile.empty()) return metrics->machine_profile;
  return eval ? string_at(*eval, "machine_profile") : "";
}

double delta_pct(double baseline, double current) {
  if (std::isnan(baseline) || std::isnan(current)) return std::numeric_limits<double>::quiet_NaN();
  if (baseline == 0) return current == 0 ? 0 : std::numeric_limits<double>::infinity();
  return (current - baseline) / std::abs(baseline) * 100;
}

GateReport compare_with_baseline(const RunFiles& current, const RunFiles& baseline,
                                 const Tolerances& tolerances, CompareScope scope) {
  GateReport report;
  report.rule = "stored baseline";
  report.machine_profile = current.machine_profile();
  report.base_name = baseline.name;
  report.candidate_name = current.name;
  if (auto line = obstacle_to_comparison(current, baseline, scope)) {
    report.lines.push_back(std::move(*line));
  } else {
    if (scope.bench) add_metrics(report, *current.metrics, *baseline.metrics, tolerances);
    if (scope.eval) add_eval(report, current, baseline, tolerances);
    if (scope.bench) add_estimator(report, current, baseline);
    if (scope.bench)
      report.lines.push_back(
          compare_slope(*baseline.metrics, *current.metrics, tolerances.loss_slope_threshold));
  }
  report.status = overall(report.lines);
  report.summary = summary_of(report);
  return report;
}

}  // namespace sluice::gate
