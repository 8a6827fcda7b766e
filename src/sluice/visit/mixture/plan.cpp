// sluice/visit/mixture/plan.cpp - how rows of mixtures are measured.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/mixture/plan.h"

namespace sluice::visit {
namespace {

constexpr double kSlowestBatchS = 10;  // a worker whose batches take longer hangs

}  // namespace

measure::Policy mixture_policy(const scenario::MixtureSpec& spec, int runs, std::uint64_t seed) {
  measure::Policy policy;
  policy.runs = runs;
  policy.samples_per_run = 1;
  policy.min_sample_ms = 0;
  policy.warmup_ms = policy.warmup_limit_ms = 0;  // the warm-up is a number of batches
  policy.slow_item_s = 0;
  policy.step_timeout_s =
      spec.options.stall_limit_s +
      static_cast<double>(spec.warmup + spec.steps) * (kSlowestBatchS + spec.sleep_s);
  policy.seed = seed;
  return policy;
}

}  // namespace sluice::visit
