// sluice/visit/gate/spin_pairs.h - pairs of the self-test that take turns, as the pairs of `sluice
// gate` do: only slices that ran beside each other are compared.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/pairs/paired_gate.h"
#include "sluice/measure/runner.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::visit {

struct SpinPlan {
  std::vector<std::string> worker;  // argv of the worker program
  int rounds = 1;                   // of one turn
  int turns = 24;                   // of each side in a pair
  std::string slowdown;             // of B, for SLUICE_INJECT_SLOWDOWN; empty: none
  std::uint64_t seed = 0;           // of order and layout
};

class SpinPairs {
 public:
  SpinPairs(SpinPlan plan, const measure::RunnerContext& runner);

  /// Two fresh processes, a slice in turn in random order while the other is stopped; the value is
  /// gate::value_of_rounds().
  Result<std::vector<gate::PairValue>> take(int index);

 private:
  SpinPlan plan_;
  const measure::RunnerContext& runner_;
  std::vector<measure::SubjectSpec> sides_;
};

}  // namespace sluice::visit
