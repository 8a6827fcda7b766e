// sluice/gate/baseline/compare.cpp - one function per kind of row; nothing is read or measured
// here.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/compare.h"

#include "sluice/analysis/training_metrics.h"
#include "sluice/core/text.h"
#include "sluice/results/eval_file.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace sluice::gate {
namespace {

/// A figure of one side: its value, or why there is none.
struct Figure {
  std::optional<double> value;
  bool broken = false;  // not a finite number, and nothing says why
  std::string reason;
};

/// `why`: what stands beside a null.
Figure figure_of(const Json& value, const Json& why) {
  if (value.is_number()) {
    const double number = value.get<double>();
    return {number, !std::isfinite(number), std::isfinite(number) ? "" : "it is not finite"};
  }
  if (value.is_null() && why.is_string())
    return {std::nullopt, false, printable(why.get<std::string>())};
  return {std::nullopt, true,
          value.is_null() ? "it is null without a reason, as NaN is written"
                          : std::string("it is of type ") + value.type_name()};
}

Figure figure_at(const std::optional<Json>& file, const std::string& pointer, bool required) {
  if (!file) return {std::nullopt, false, "there is no such file"};
  if (!file->contains(Json::json_pointer(pointer)))
    return {std::nullopt, required, "the key is missing"};
  return figure_of(at_pointer(*file, pointer), at_pointer(*file, pointer + "_reason"));
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
  std::string pointer;  // into the file
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

GateLine compare_at(const Rule& rule, const std::optional<Json>& baseline,
                    const std::optional<Json>& current) {
  return compare_figures(rule, figure_at(baseline, rule.pointer, false),
                         figure_at(current, rule.pointer, rule.required));
}

/// The slope itself is judged; the baseline is only shown.
GateLine compare_slope(const std::optional<Json>& baseline, const std::optional<Json>& current,
                       double threshold) {
  const Figure base = figure_at(baseline, "/loss/loss_slope", false);
  const Figure now = figure_at(current, "/loss/loss_slope", false);
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
  return line;
}

void add_metrics(GateReport& report, const RunFiles& current, const RunFiles& baseline,
                 const Tolerances& t) {
  const auto add = [&](const Rule& rule) {
    report.lines.push_back(compare_at(rule, baseline.metrics, current.metrics));
  };
  add({.metric = "tokens_per_sec_p50",
       .pointer = "/throughput/tokens_per_sec_p50",
       .kind = LineKind::best_run,
       .unit = "tokens/s",
       .worse = -1,
       .tolerance = t.throughput_drop_pct,
       .required = true});
  add({.metric = "step_time_p50_s",
       .pointer = "/timing/step_time_p50_s",
       .kind = LineKind::best_run,
       .unit = "s",
       .tolerance = t.step_time_increase_pct,
       .required = true});
  if (t.step_time_p90_increase_pct)
    add({.metric = "step_time_p90_s",
         .pointer = "/timing/step_time_p90_s",
         .kind = LineKind::tail,
         .unit = "s",
         .tolerance = *t.step_time_p90_increase_pct,
         .required = true});
  add({.metric = "peak_allocated_bytes",
       .pointer = "/memory/peak_allocated_bytes",
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
  report.lines.push_back(compare_at({.metric = "ppl_fixed_shard",
                                     .pointer = "/ppl_fixed_shard",
                                     .kind = LineKind::quality,
                                     .tolerance = t.ppl_increase_pct,
                                     .required = true},
                                    baseline.eval, current.eval));
  const Json& stored = at_pointer(*baseline.eval, "/task_probe_accuracy");
  const Json& now = at_pointer(*current.eval, "/task_probe_accuracy");
  if (!stored.is_object()) return;
  for (const auto& [name, accuracy] : stored.items()) {
    if (!now.is_object() || !now.contains(name)) {
      report.lines.push_back(missing_probe(printable(name), accuracy));
      continue;
    }
    report.lines.push_back(compare_figures({.metric = "probe/" + printable(name),
                                            .pointer = "",
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
  const auto other_schema = [&](bool used, const std::optional<Json>& file, const char* schema,
                                const char* name) -> std::optional<GateLine> {
    if (!used || !file || text_of(file, "schema_version") == schema) return std::nullopt;
    return skipped("schema_version",
                   fmt::format("{}: {} is of schema '{}', expected '{}'; promote a run of this "
                               "version",
                               printable(baseline.name), name,
                               printable(text_of(file, "schema_version")), schema));
  };
  if (auto line =
          other_schema(scope.bench, baseline.metrics, analysis::kTrainingSchema, "metrics.json"))
    return line;
  return other_schema(scope.eval, baseline.eval, results::kEvalSchema, "eval.json");
}

}  // namespace

std::string text_of(const std::optional<Json>& file, const char* key) {
  return file ? string_at(*file, key) : "";
}

std::string RunFiles::machine_profile() const {
  const std::string profile = text_of(metrics, "machine_profile");
  return !profile.empty() ? profile : text_of(eval, "machine_profile");
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
    if (scope.bench) add_metrics(report, current, baseline, tolerances);
    if (scope.eval) add_eval(report, current, baseline, tolerances);
    if (scope.bench)
      report.lines.push_back(
          compare_slope(baseline.metrics, current.metrics, tolerances.loss_slope_threshold));
  }
  report.status = overall(report.lines);
  report.summary = summary_of(report);
  return report;
}

}  // namespace sluice::gate
