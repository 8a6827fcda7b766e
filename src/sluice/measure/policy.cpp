// sluice/measure/policy.cpp - the policy as recorded in results.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/policy.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::measure {
namespace {

constexpr double kLongestMs = 1e9;  // eleven days; also keeps nanoseconds far from overflow

Error refusal(const char* name, double value, const char* accepted) {
  return {Errc::usage, fmt::format("{} {:g}: expected {}", name, value, accepted)};
}

bool within(double value, double low, double high) {  // false for NaN
  return value >= low && value <= high;
}

}  // namespace

Status check(const Policy& policy) {
  if (policy.runs < 1) return refusal("runs", policy.runs, "at least 1");
  if (policy.samples_per_run < 1)
    return refusal("samples_per_run", policy.samples_per_run, "at least 1");
  if (policy.samples_per_turn < 1)
    return refusal("samples_per_turn", policy.samples_per_turn, "at least 1");
  if (!within(policy.min_sample_ms, 0, kLongestMs))
    return refusal("min_sample_ms", policy.min_sample_ms, "0 to 1e9");
  if (!within(policy.warmup_ms, 0, kLongestMs))
    return refusal("warmup_ms", policy.warmup_ms, "0 to 1e9");
  if (!within(policy.warmup_limit_ms, 0, kLongestMs))
    return refusal("warmup_limit_ms", policy.warmup_limit_ms, "0 to 1e9");
  if (!within(policy.slow_item_s, 0, kLongestMs))
    return refusal("slow_item_s", policy.slow_item_s, "0 (off) or more seconds");
  if (!(policy.step_timeout_s > 0))
    return refusal("step_timeout_s", policy.step_timeout_s, "more than 0 seconds");
  const bool open_ended = policy.stop == StopKind::width || policy.stop == StopKind::usual;
  if (open_ended && policy.max_runs < policy.runs)
    return refusal("max_runs", policy.max_runs, "at least `runs`");
  return ok;
}

const char* to_string(StopKind kind) {
  switch (kind) {
    case StopKind::count:
      return "count";
    case StopKind::time:
      return "time";
    case StopKind::width:
      return "width";
    case StopKind::usual:
      return "usual";
  }
  return "count";
}

Json to_json(const Policy& policy) {
  return Json{{"runs", policy.runs},
              {"samples_per_run", policy.samples_per_run},
              {"samples_per_turn", policy.samples_per_turn},
              {"min_sample_ms", policy.min_sample_ms},
              {"warmup_ms", policy.warmup_ms},
              {"warmup_limit_ms", policy.warmup_limit_ms},
              {"slow_item_s", policy.slow_item_s},
              {"step_timeout_s", policy.step_timeout_s},
              {"single_thread_cpu_limit", policy.single_thread_cpu_limit},
              {"unstable_cv", policy.unstable_cv},
              {"stop", to_string(policy.stop)},
              {"time_budget_s", policy.time_budget_s},
              {"target_width", policy.target_width},
              {"max_runs", policy.max_runs},
              {"seed", policy.seed},
              {"data_seed", subject_seed(policy)},
              {"cpus", to_string(policy.cpus)}};
}

}  // namespace sluice::measure
