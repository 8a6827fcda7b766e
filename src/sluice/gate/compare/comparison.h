// sluice/gate/compare/comparison.h - what a comparison holds: per row a ratio, a verdict, a reason.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/gate/gate_report.h"
#include "sluice/measure/record.h"
#include "sluice/stats/sample.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::gate {

struct CompareOptions {
  double threshold = 0.05;  // [0, 1): a significant loss of more than this fails; PASS rules it out
  double alpha = 0.05;      // (0, 1): chance of any false verdict over all judged rows (Holm)
  double confidence = 0.95;  // of the intervals shown
  double power = 0.8;  // with which a change of the minimal detectable size would have been found
  bool allow_missing = false;             // rows that only base measured are SKIP, not FAIL
  std::vector<std::string> libraries{};   // only rows of these; empty: all
  std::vector<std::string> transforms{};  // only rows of these, by parameter or case; empty: all
  int min_runs = 3;  // at least 2; fresh processes a side below which nothing can be decided
};

/// One row as one side has it, over all files of the set.
struct Side {
  measure::RowStatus status = measure::RowStatus::ok;
  std::string reason;           // of the status
  int runs = 0;                 // fresh processes with timed samples
  std::optional<double> value;  // geometric mean over runs, in the row's unit; absent without runs
};

struct RowComparison {
  std::string case_name;
  std::map<std::string, std::string> params;
  std::string library;
  std::string unit;
  measure::Better better = measure::Better::higher;
  std::optional<Side> base;  // absent: the row is not in this set
  std::optional<Side> candidate;
  /// candidate over base in the sense of `better`: above 1 the candidate is faster, whatever the
  /// unit. The interval needs 2 runs a side; with fewer there is only the point in `ratio_point`.
  std::optional<double> ratio_point;
  std::optional<stats::Estimate> ratio;
  std::optional<double> p;       // Welch's t test on the logarithms of the run values, two-sided
  std::optional<double> p_holm;  // over the judged rows; only these have one
  std::optional<double> mde;  // relative loss that would have been found with probability `power`
  /// FAIL: significantly slower, by more than the threshold. IMPROVED: what would fail with the
  /// sides swapped. PASS: a loss of the threshold is ruled out at alpha. INCONCLUSIVE: neither, or
  /// too few runs; see `mde`. INVALID: ok in base, and what candidate has cannot be judged beside
  /// it: failed, stopped early, in another unit. A row that candidate does not have at all, or did
  /// not measure, is FAIL: else the slow ones could be left out. SKIP: base has nothing to compare
  /// with, or `allow_missing`.
  GateStatus verdict = GateStatus::skip;
  bool missing = false;  // measured in base, and not in candidate
  std::string reason;    // one line, never empty
};

struct Counts {
  int fail = 0;
  int missing = 0;  // of those that fail
  int improved = 0;
  int pass = 0;
  int inconclusive = 0;
  int invalid = 0;
  int skip = 0;
};

struct Comparison {
  std::string base_name;
  std::string candidate_name;
  CompareOptions options;
  std::vector<std::string> warnings;  // why the two sets may not be comparable
  /// Those that FAIL first, the worst on top, then INVALID ones; the rest in the order of base,
  /// then those of candidate alone.
  std::vector<RowComparison> rows;
  std::vector<RowComparison>
      machine;  // the canary: never judged, says whether the machine itself changed
  Counts counts;
  GateStatus outcome = GateStatus::skip;  // as overall() of a gate
  std::string summary;                    // one line: outcome and counts
};

/// case and the parameters its name does not already say.
std::string label(const RowComparison& row);

Json to_json(const Comparison& comparison);

}  // namespace sluice::gate
