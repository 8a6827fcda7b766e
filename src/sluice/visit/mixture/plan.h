// sluice/visit/mixture/plan.h - what `sluice bench mixture` measures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/policy.h"
#include "sluice/report/mixture/svg.h"
#include "sluice/scenario/mixture/spec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::visit {

/// What a visit measures: every seed in every library.
struct MixturePlan {
  scenario::MixtureSpec spec;  // its seed is the first
  std::vector<std::uint64_t> seeds;
  std::vector<std::string> libraries{"sluice"};
  report::MixtureDrawing drawing;
  measure::Policy policy;
};

/// How rows of mixtures are measured: one pass per fresh process, no time limit but the loader's
/// own and one for a worker that hangs.
measure::Policy mixture_policy(const scenario::MixtureSpec& spec, int runs, std::uint64_t seed);

}  // namespace sluice::visit
