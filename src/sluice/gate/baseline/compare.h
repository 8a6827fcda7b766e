// sluice/gate/baseline/compare.h - a run beside its stored baseline: metrics.json and eval.json by
// fixed tolerances.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/gate/baseline/tolerances.h"
#include "sluice/gate/gate_report.h"
#include "sluice/results/training_metrics.h"

#include <optional>
#include <string>

namespace sluice::gate {

/// Of every comparison with a tolerance: 0.92 against 0.90 is a drop of exactly 2.0 points.
inline constexpr double kToleranceEpsilon = 1e-9;

/// What a run or a baseline left; an absent file is not there.
struct RunFiles {
  std::string name;  // what messages call it
  std::optional<results::TrainingMetrics> metrics;
  std::optional<Json> eval;

  /// Of the files; empty without any.
  [[nodiscard]] std::string machine_profile() const;
};

/// Which of the two files are compared.
struct CompareScope {
  bool bench = true;
  bool eval = true;
};

/// (current − baseline) / |baseline| · 100; from 0 it is +inf, or 0 when nothing changed.
double delta_pct(double baseline, double current);

/// The throughput that is judged, in what the user counts: a watched program that was given no
/// tokens counts samples, or steps.
struct JudgedRate {
  const char* metric = "tokens_per_sec_p50";
  const char* unit = "tokens/s";
};
JudgedRate judged_rate(const results::TrainingMetrics& metrics);

/// Pure. Rows in the order of judged_rate, step_time_p50_s, step_time_p90_s if asked for,
/// peak_allocated_bytes, ppl_fixed_shard, probe/<name>..., mfu_p50 (SKIP, only where the two count
/// FLOP by different estimators), loss_slope. `timestamp` is left empty.
///
/// The whole is SKIP without a baseline, with one of another schema, machine profile or last block
/// (training_work.h); FAIL
/// without current results; else overall(lines). A current value that is not finite is INVALID;
/// what either side did not measure is a SKIP row with its reason; a probe that is gone is a WARN.
GateReport compare_with_baseline(const RunFiles& current, const RunFiles& baseline,
                                 const Tolerances& tolerances, CompareScope scope = {});

}  // namespace sluice::gate
