// sluice/analysis/loader_verdict.h - is it fast enough, what limits it, what to do: rules over the
// metrics of a loader.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/advice.h"
#include "sluice/analysis/bottleneck.h"
#include "sluice/analysis/loader_metrics.h"
#include "sluice/measure/record.h"
#include "sluice/stats/sample.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::analysis {

using results::Check;
using results::Mark;

enum class Direction { above, below };
/// `limit` and the value are shown times `scale`, followed by `unit`.
Check check(const char* name, const measure::Measured<double>& value, Direction direction,
            double limit, double scale, const char* unit);

/// What a loader is compared with; absent: it is not.
struct LoaderTargets {
  std::optional<double> rate = 1000;       // samples/s, above
  std::optional<double> gpu = 90;          // per cent of the time, above
  std::optional<double> overhead = 0.10;   // of the workers' time, below
  std::optional<double> idle_vram = 0.30;  // share, below
};
std::vector<Check> loader_targets(const LoaderFacts& facts, const LoaderTargets& targets = {});
/// "rate=5000", "overhead=5%", "gpu=80%", "idle-vram=40%" replace a target, "none" drops all.
Status set_target(LoaderTargets& targets, const std::string& text);
/// Steady throughput over runs, even batch times, memory that does not grow, GPU use above 85 %.
std::vector<Check> loader_indicators(const LoaderFacts& facts, double cv_over_runs);

/// The stage with the largest share of the workers' busy time; empty when nothing is known.
std::string limiting_stage(const LoaderUse& use, double* share = nullptr);

/// What limits the step, or the loader alone, with what to do about it; then whatever rules apply.
std::vector<Finding> loader_findings(const LoaderFacts& facts, const LoaderSetting& setting,
                                     const std::optional<Attribution>& step,
                                     const std::vector<Advice>& advice);

/// Seconds of one epoch over `items` at the rate of the row, with the interval of that rate.
std::optional<stats::Estimate> epoch_estimate(const measure::Row& row, double items);

}  // namespace sluice::analysis
