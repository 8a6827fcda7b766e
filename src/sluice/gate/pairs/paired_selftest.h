// sluice/gate/pairs/paired_selftest.h - what repeated trials of the paired gate say about it: false
// alarms, power, the noise of this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/gate/pairs/paired_gate.h"
#include "sluice/gate/pairs/paired_simulation.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace sluice::gate {

/// The same slowdown, tried again and again; 0: A against itself.
struct SelftestCondition {
  double slowdown = 0;  // drop in speed: B takes 1 / (1 - slowdown) times as long
  int target = 0;       // trials asked for
  int trials = 0;
  int failed = 0, passed = 0, improved = 0, inconclusive = 0;
  int cleared_alarms = 0;  // trials in which an alarm was not confirmed
  std::int64_t pairs = 0;  // of all trials, confirming ones included
  double log_change = 0;   // sum of the estimates
};

struct SelftestTrial {
  std::size_t condition = 0;
  PairedOutcome outcome;  // of one metric
};

/// A/A first with `trials`, then each slowdown with `power_trials`.
std::vector<SelftestCondition> selftest_conditions(int trials, int power_trials,
                                                   const std::vector<double>& slowdowns);

/// Whose turn it is: the condition furthest behind its share, so that all see the same machine and
/// a budget cuts all alike. Empty: all done.
std::optional<std::size_t> next_condition(const std::vector<SelftestCondition>& conditions);

void record(SelftestCondition& condition, const PairedOutcome& outcome);

/// Pairs that a trial is expected to take: the first look, and the confirmation where a slowdown
/// reaches tau.
double expected_pairs(const SelftestCondition& condition, const PairedOptions& options);

struct SelftestNoise {
  double sd = 0;                  // of the log ratio of a pair, pooled over trials
  std::int64_t needed_pairs = 0;  // for tau at one look
  std::vector<double> mde;        // per look of the options, as a share
};
/// From all trials; at least one.
Result<SelftestNoise> noise_of(const std::vector<SelftestTrial>& trials,
                               const PairedOptions& options);

/// The A/A condition's FAILs, and any other's.
Share failed_share(const SelftestCondition& condition);

/// More false alarms than alpha allows, beyond doubt: Wilson's lower limit is above it.
bool cries_wolf(const std::vector<SelftestCondition>& conditions, const PairedOptions& options);

Json to_json(const std::vector<SelftestCondition>& conditions);
Json to_json(const SelftestNoise& noise);
/// {"slowdown", "status", "pairs", "confirm_pairs", "seconds": as pairs_json}.
Json to_json(const SelftestTrial& trial, const std::vector<SelftestCondition>& conditions);

}  // namespace sluice::gate
