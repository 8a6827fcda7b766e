// sluice/gate/pairs/paired_background.cpp - means and evidence of CPU time, and the need of pairs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_background.h"

#include <algorithm>

namespace sluice::gate {
namespace {

constexpr const char* kWall = "wall";  // the one metric for which CPU time can stand in

void weigh_cpu(PairedBackground& background, const std::vector<PairCpu>& cpu,
               const PairedMetric& metric, double level, PairedOptions options) {
  std::vector<double> a, b;
  for (const PairCpu& pair : cpu) {
    if (pair.a.total() <= 0 || pair.b.total() <= 0) return;
    a.push_back(pair.a.total());
    b.push_back(pair.b.total());
  }
  if (metric.tau > 0) options.tau = metric.tau;
  const std::vector<double> ratios = log_ratios(a, b, measure::Better::lower);
  auto evidence = weigh(ratios, level, 1, options);
  if (!evidence || !adjust({&*evidence})) return;
  background.cpu = *evidence;
  background.cpu_status = judge_pairs(*evidence, options);
}

Json time_json(const CpuTime& time) {
  return {{"user_s", time.user_s}, {"system_s", time.system_s}};
}

}  // namespace

PairedBackground background_of(const PairedOutcome& outcome, const GateReport& report,
                               const std::vector<PairCpu>& cpu, double elapsed_s) {
  PairedBackground background;
  const auto runs = static_cast<double>(std::max<std::size_t>(1, cpu.size()));
  for (const PairCpu& pair : cpu) {
    background.a.user_s += pair.a.user_s / runs;
    background.a.system_s += pair.a.system_s / runs;
    background.b.user_s += pair.b.user_s / runs;
    background.b.system_s += pair.b.system_s / runs;
  }
  background.pair_s = elapsed_s / std::max(1, outcome.pairs + outcome.confirm_pairs);
  if (report.status != GateStatus::inconclusive) return background;
  bool open_wall = false;
  for (const PairedMetricOutcome& one : outcome.metrics) {
    if (!one.metric.blocking || one.status != GateStatus::inconclusive) continue;
    if (background.needed_pairs == 0) background.pair_sd = one.evidence.sd;
    background.needed_pairs = std::max(background.needed_pairs, one.evidence.needed_pairs);
    if (one.metric.name != kWall) continue;
    open_wall = true;
    weigh_cpu(background, cpu, one.metric, one.evidence.level, outcome.options);
  }
  background.cpu_helps = open_wall && background.cpu_status != GateStatus::inconclusive;
  return background;
}

Json to_json(const PairedBackground& background) {
  Json cpu;
  if (background.cpu)
    cpu = {{"status", to_string(background.cpu_status)},
           {"speed_change",
            {{"point", speed_change(background.cpu->estimate)},
             {"low", speed_change(background.cpu->low)},
             {"high", speed_change(background.cpu->high)}}}};
  const bool open = background.needed_pairs > 0;
  return {{"cpu_time", {{"a", time_json(background.a)}, {"b", time_json(background.b)}}},
          {"cpu_verdict", std::move(cpu)},
          {"sd_log_ratio", open ? Json(background.pair_sd) : Json()},
          {"pair_s", background.pair_s},
          {"needed_pairs", open ? Json(background.needed_pairs) : Json()},
          {"needed_s",
           open ? Json(static_cast<double>(background.needed_pairs) * background.pair_s) : Json()},
          {"causes", background.causes}};
}

}  // namespace sluice::gate
