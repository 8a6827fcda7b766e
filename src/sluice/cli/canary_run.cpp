// sluice/cli/canary_run.cpp - a short wave of the canary's parts, and their speeds.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/canary_run.h"

#include "sluice/gate/history.h"
#include "sluice/scenario/scenario.h"

namespace sluice::cli {

Result<std::vector<measure::Row>> take_canary(const std::vector<std::string>& worker,
                                              const measure::Policy& policy,
                                              measure::RunnerContext context) {
  measure::Policy brief = policy;
  brief.runs = 1;
  brief.samples_per_run = 2;
  brief.samples_per_turn = 1;
  brief.min_sample_ms = 50;
  brief.warmup_ms = 20;
  brief.warmup_limit_ms = 100;
  context.on_block = nullptr;
  SLUICE_TRY(
      measure::WaveResult wave,
      measure::run_wave(scenario::plan({scenario::Kind::canary}, worker, {}, 1), brief, context));
  return std::move(wave.rows);
}

Json canary_json(const std::vector<measure::Row>& rows) {
  gate::CanarySpeed speed;
  for (const measure::Row& row : rows) {
    const std::size_t slash = row.case_name.find('/');
    std::int64_t least_ns = 0;
    for (const measure::Run& run : row.runs) {
      for (const std::int64_t ns : run.samples_ns)
        if (least_ns == 0 || ns < least_ns) least_ns = ns;
    }
    if (slash == std::string::npos || least_ns <= 0 || row.items_per_sample <= 0) return nullptr;
    speed.version = row.case_name.substr(0, slash);
    speed.parts[row.case_name.substr(slash + 1)] =
        static_cast<double>(row.items_per_sample) * 1e9 / static_cast<double>(least_ns);
  }
  return speed.parts.empty() ? Json(nullptr) : gate::to_json(speed);
}

}  // namespace sluice::cli
