// sluice/gate/pairs/paired_gate.h - pairs taken one by one until the rule has decided: looks,
// confirmation, outcome.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/pairs/paired_rule.h"
#include "sluice/measure/record.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::gate {

struct PairedMetric {
  std::string name;  // "wall", "stdout" or a case
  std::string unit;  // of the values; may be empty
  measure::Better better = measure::Better::lower;
  bool blocking = true;  // false: shown, and never more than a warning
  double tau = 0;        // 0: that of the options
};

/// What A and B gave for one metric; both above 0.
struct PairValue {
  double a = 0;
  double b = 0;
};

/// Measures pair `index` (confirming ones count on) and gives one value per metric, in order.
using TakePair = std::function<Result<std::vector<PairValue>>(int index, bool confirming)>;

/// Fresh pairs after an alarm, not pooled with those that raised it.
struct Confirmation {
  int after_pairs = 0;  // the look that raised the alarm
  int pairs = 0;
  double estimate = 0;  // log ratio of the speeds
  double p = 1;         // paired t, one-sided
  bool confirmed = false;
};

struct PairedMetricOutcome {
  PairedMetric metric;
  std::vector<double> a;  // per pair of the main series, in order
  std::vector<double> b;
  std::vector<double> confirm_a;  // all confirming pairs, in order
  std::vector<double> confirm_b;
  PairedEvidence evidence;  // at the look that decided, or at the last one
  GateStatus status = GateStatus::inconclusive;
  std::vector<Confirmation> confirmations;  // alarms of this metric, cleared ones too
};

struct PairedOutcome {
  PairedOptions options;
  std::vector<PairedMetricOutcome> metrics;
  int pairs = 0;          // of the main series
  int confirm_pairs = 0;  // beside them
};

/// Takes pairs until every blocking metric is decided, one FAIL is confirmed, or the last look is
/// over. An alarm that is not confirmed is kept and counts as not decided at that look. An error of
/// `take`, or a value that is not above 0 (Errc::measurement), ends it. At least one blocking
/// metric.
Result<PairedOutcome> run_pairs(const std::vector<PairedMetric>& metrics,
                                const PairedOptions& options, const TakePair& take);

/// log(B's speed / A's), pair by pair.
std::vector<double> log_ratios(const std::vector<double>& a, const std::vector<double>& b,
                               measure::Better better);

}  // namespace sluice::gate
