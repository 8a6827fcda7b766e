// sluice/gate/baseline/tolerances.h - how much worse than its stored baseline a run may be.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <optional>
#include <span>
#include <string_view>

namespace sluice::gate {

/// Strictly more than a tolerance trips; exactly at it passes.
struct Tolerances {
  double throughput_drop_pct = 5;      // of tokens_per_sec_p50: FAIL
  double step_time_increase_pct = 5;   // of step_time_p50_s: FAIL
  double memory_increase_pct = 10;     // of peak_allocated_bytes: WARN
  double ppl_increase_pct = 1.5;       // of ppl_fixed_shard: FAIL
  double probe_drop_abs = 2;           // of each probe's accuracy, in percentage points: FAIL
  double loss_slope_threshold = 1e-3;  // of the slope itself, not of its change: FAIL
  std::optional<double> step_time_p90_increase_pct;  // for jitter; absent: not looked at. FAIL
};

/// One of the six that are always looked at: its name, place, unit, text, and presets.
struct ToleranceField {
  const char* name;  // "throughput_drop_pct"; the flag has dashes
  double Tolerances::*value;
  const char* unit;   // "%", "points", or empty
  bool zero_allowed;  // the others must be above 0
  double strict, lenient;
  const char* text;
};
std::span<const ToleranceField> tolerance_fields();
inline constexpr const char* kP90Tolerance = "step_time_p90_increase_pct";

/// "default", "strict" or "lenient".
Result<Tolerances> tolerance_preset(std::string_view name);

/// Errc::usage names the first that is out of range.
Status check(const Tolerances& tolerances);

Json to_json(const Tolerances& tolerances);

}  // namespace sluice::gate
