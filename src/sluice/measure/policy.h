// sluice/measure/policy.h - every knob of a measurement, once; written into each result.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/cpu_list.h"

#include <cstdint>
#include <optional>

namespace sluice::measure {

/// The thread policy of rows with a loader: it may use every core, that is what it is for.
inline constexpr const char* kLoaderThreads = "loader-all-cores";
/// CPU time over wall time of rows whose threads are not judged.
inline constexpr double kNoCpuLimit = 1e6;

/// When a row has been measured often enough.
enum class StopKind {
  count,  // after `runs` runs
  time,   // after `time_budget_s`, but at least `runs` runs
  width,  // when the 95 % interval is narrower than `target_width`, but at least `runs` and at most
          // `max_runs` runs
  usual,  // when the lower quartile of the runs' median times is within `target_width` of the
          // best, so that the best is no stroke of luck; runs as for `width`
};

struct Policy {
  int runs = 5;                // fresh processes per row; below 3 no comparison gives a verdict
  int samples_per_run = 2;     // more narrows the interval within a run, never between runs
  int samples_per_turn = 1;    // taken in a row, all others stopped, before the next subject's turn
  double min_sample_ms = 100;  // a sample repeats whole passes until it lasts this long
  double warmup_ms =
      50;  // untimed, before every sample: caches, clocks and branch predictors refill
  double warmup_limit_ms =
      1000;  // a subject that keeps getting faster is measured after this all the same
  double slow_item_s =
      0.05;  // preflight: at or above this per item the row is early-stopped; 0 is off
  double step_timeout_s = 60;  // a worker that answers later than this is killed and its row failed
  double single_thread_cpu_limit =
      1.05;  // cpu time over wall time per thread asked for; above: policy violated
  double unstable_cv = 0.15;  // coefficient of variation over runs above which a row is marked
  StopKind stop = StopKind::count;
  double time_budget_s = 0;    // for StopKind::time, per wave
  double target_width = 0.02;  // for StopKind::width and usual, over the mean and over the best
  int max_runs = 30;
  std::uint64_t seed = 0;  // order within blocks, environment padding
  /// What subjects draw from: two sessions with another order do the same work. Absent: `seed`.
  std::optional<std::uint64_t> data_seed{};
  CpuList cpus;  // cores for subjects, the harness keeps off them; empty: no pinning
};

/// Refuses values with which a wave would never end or a sample would mean nothing.
Status check(const Policy& policy);

inline std::uint64_t subject_seed(const Policy& policy) {
  return policy.data_seed.value_or(policy.seed);
}

const char* to_string(StopKind kind);
Json to_json(const Policy& policy);

}  // namespace sluice::measure
