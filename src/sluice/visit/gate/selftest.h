// sluice/visit/gate/selftest.h - real trials of the paired gate on this machine, within a budget.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/pairs/paired_selftest.h"
#include "sluice/visit/caller.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace sluice::visit {

struct SelftestPlan {
  gate::PairedOptions gate;
  int trials = 300;        // A against itself
  int power_trials = 100;  // per slowdown
  /// Drops in speed, the unit of tau: B takes 1 / (1 - share) times as long.
  std::vector<double> slowdowns = {0.01, 0.02, 0.03, 0.05, 0.10};
  double budget_s = 600;
  double subject_s = 0.2;  // that the subject takes on one side of a pair, about
  int turns = 1;           // in which it takes them; 1: whole runs one after the other, as `ab`
  std::uint64_t seed = 0;
  std::filesystem::path out{};  // empty: nothing is written
};

struct SelftestResult {
  std::vector<gate::SelftestCondition> conditions;
  gate::SelftestNoise noise;
  Json document;
  bool interrupted = false;
};

/// Sizes the subject, says on stderr how long everything would take, then runs trials that share
/// nothing, all conditions in turn, until all are done or the next would pass the budget. With
/// `out`, selftest.json is replaced after every trial. An interruption keeps the finished trials;
/// with none finished it is an Error.
Result<SelftestResult> run_selftest(const SelftestPlan& plan, const Caller& caller);

}  // namespace sluice::visit
