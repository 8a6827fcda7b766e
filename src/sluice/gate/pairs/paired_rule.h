// sluice/gate/pairs/paired_rule.h - the rule of the paired gate: what n pairs say about one metric.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"
#include "sluice/stats/sample.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::gate {

/// A moment at which the pairs so far are judged, and the share of alpha spent there.
struct PairedLook {
  int pairs = 8;
  double alpha_share = 1;
};

struct PairedOptions {
  double tau = 0.03;    // (0, 1): the drop in speed that PASS rules out
  double floor = 0.01;  // [0, 1): the smallest change worth acting on
  double alpha = 0.01;  // (0, 0.5): spent once for FAIL, once for PASS and IMPROVED
  double power = 0.9;   // for the minimal detectable effect and the pairs needed
  std::vector<PairedLook> looks = {{8, 0.4}, {16, 0.3}, {32, 0.3}};  // pairs rise, shares sum to 1
  int confirm_pairs = 8;        // fresh ones before FAIL, not pooled; 0: none
  double confirm_alpha = 0.05;  // one-sided
  int draws = 100'000;          // of the sign-flip test above 16 pairs
  std::uint64_t seed = 0;       // of these draws
};

/// One look, after exactly this many pairs.
std::vector<PairedLook> single_look(int pairs);

/// Ranges and the order of the looks; Errc::usage names the first that is not accepted.
Status check_options(const PairedOptions& options);

/// Everything that n log ratios say. A log ratio is the logarithm of B's speed over A's: below 0 B
/// is slower, whatever the metric's unit. Both ends of the interval are one-sided at `level`.
struct PairedEvidence {
  int pairs = 0;
  double level = 0;  // of this look
  double estimate = 0;
  double low = 0;
  double high = 0;
  double sd = 0;              // of the log ratios
  double hodges_lehmann = 0;  // the estimate that outliers do not move
  double p_t = 1;             // that B is no slower: paired t, one-sided
  double p_sign_flip = 1;     // the same by flipping signs
  bool sign_flip_exact = true;
  double p_holm = 1;  // the larger of both, adjusted over the blocking metrics
  double mde = 0;     // share of speed whose loss would have been found with probability `power`
  std::int64_t needed_pairs = 0;  // for a drop of tau, found with that probability at one look
};

/// `family` is the number of blocking metrics (at least 1). p_holm is left to `adjust`. At least 2
/// log ratios.
Result<PairedEvidence> weigh(stats::Sample log_ratios, double level, std::size_t family,
                             const PairedOptions& options);

/// Holm over the evidence of the blocking metrics of one look, in place.
Status adjust(const std::vector<PairedEvidence*>& blocking);

/// In this order: IMPROVED (low > 0, estimate at least +floor), PASS (low > log(1 - tau)), FAIL
/// (p_holm at most the level, estimate at most -floor), INCONCLUSIVE.
GateStatus judge_pairs(const PairedEvidence& evidence, const PairedOptions& options);

/// The fewest pairs with which the sign-flip test can reach `level` in a family: 2^-n is its
/// smallest p.
int fewest_pairs(double level, std::size_t family);

/// exp(log_ratio) - 1: the change in speed as a share.
double speed_change(double log_ratio);

}  // namespace sluice::gate
