// sluice/measure/policy.cpp - the policy as recorded in results.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/policy.h"

namespace sluice::measure {

const char* to_string(StopKind kind) {
  switch (kind) {
    case StopKind::count:
      return "count";
    case StopKind::time:
      return "time";
    case StopKind::width:
      return "width";
  }
  return "count";
}

Json to_json(const Policy& policy) {
  return Json{{"runs", policy.runs},
              {"samples_per_run", policy.samples_per_run},
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
              {"cpus", to_string(policy.cpus)}};
}

}  // namespace sluice::measure
