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
  /// Beside other loaders ours compares checksums at every visit, as they do; then a row of ours as
  /// it is by itself, with checks at the first visit of a record, stands below.
  bool also_first_checks = false;
  bool validate = false;  // one pass over the validation split, after all rows
  measure::Policy policy;
};

/// How rows of mixtures are measured: one pass per fresh process, no time limit but the loader's
/// own and one for a worker that hangs.
measure::Policy mixture_policy(const scenario::MixtureSpec& spec, int runs, std::uint64_t seed);

}  // namespace sluice::visit
