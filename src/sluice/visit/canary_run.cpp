// sluice/visit/canary_run.cpp - a short wave of the canary's parts, and their speeds.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/canary_run.h"

#include "sluice/scenario/scenario.h"
#include "sluice/stats/summary.h"

namespace sluice::visit {

Result<std::vector<measure::Row>> take_canary(const std::vector<std::string>& worker,
                                              const measure::Policy& policy,
                                              measure::RunnerContext context, int runs,
                                              std::vector<measure::Row> so_far) {
  measure::Policy brief = policy;
  brief.stop = measure::StopKind::count;
  brief.runs = runs;
  if (!so_far.empty()) brief.runs += static_cast<int>(so_far.front().runs.size());
  brief.samples_per_run = 8;
  brief.samples_per_turn = 8;
  brief.min_sample_ms = 3;
  brief.warmup_ms = 5;
  brief.warmup_limit_ms = 30;
  context.on_block = nullptr;
  context.progress = &Progress::silent();
  SLUICE_TRY(measure::WaveResult wave,
             measure::run_wave(scenario::plan({scenario::Kind::canary}, worker, {}, 1), brief,
                               context, std::move(so_far)));
  return std::move(wave.rows);
}

namespace {

/// The upper quartile over the runs; 0 when none was counted.
double passes_per_core_second(const measure::Row& row) {
  std::vector<double> speeds;
  for (const measure::Run& run : row.runs) {
    const auto passes =
        static_cast<double>(row.items_per_sample) * static_cast<double>(run.samples_ns.size());
    if (run.cpu_ns > 0) speeds.push_back(passes * 1e9 / static_cast<double>(run.cpu_ns));
  }
  const auto quartile = stats::percentile(speeds, 75);
  return quartile ? *quartile : 0;
}

std::optional<results::CanarySpeed> canary_of(const std::vector<measure::Row>& rows) {
  results::CanarySpeed speed;
  for (const measure::Row& row : rows) {
    const std::size_t slash = row.case_name.find('/');
    const double passes = passes_per_core_second(row);
    if (slash == std::string::npos || passes <= 0) return std::nullopt;
    speed.version = row.case_name.substr(0, slash);
    speed.parts[row.case_name.substr(slash + 1)] = passes;
  }
  return speed.parts.empty() ? std::nullopt : std::optional(std::move(speed));
}

std::optional<results::NoiseSummary> noise_of(const Json& environment) {
  const Json& noise = at(environment, "noise");
  if (!noise.is_object()) return std::nullopt;
  results::NoiseSummary summary;
  for (const Json& one : at(noise, "findings"))
    summary.findings.push_back(
        {string_at(one, "check"), string_at(one, "severity"), string_at(one, "value")});
  summary.verdict = string_at(noise, "verdict");
  summary.score = at(noise, "score");
  if (const Json& steal = at(at(noise, "facts"), "steal"); steal.is_number())
    summary.steal = steal.get<double>();
  return summary;
}

}  // namespace

void put_machine(results::TrainingMetrics& metrics, const results::ResultFile& file) {
  metrics.canary = canary_of(file.canary);
  metrics.noise = noise_of(file.environment);
}

}  // namespace sluice::visit
