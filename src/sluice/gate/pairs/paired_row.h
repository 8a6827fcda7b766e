// sluice/gate/pairs/paired_row.h - one row of a result set as the value of a pair.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/result_set.h"
#include "sluice/measure/record.h"

#include <cstdint>
#include <set>
#include <string>

namespace sluice::gate {

struct RowValue {
  double value = 0;  // geometric mean over the runs, in `unit`
  std::string unit;
  measure::Better better = measure::Better::higher;
};

/// `name` is a case, or LIBRARY:CASE; without a library ours is meant where there are several.
/// Errc::not_found names the nearest case, Errc::measurement the reason of a row that is not ok.
Result<RowValue> row_value(const analysis::ResultSet& set, const std::string& name);

/// The drop that PASS rules out where the user names none: 3 %, of loader rows 5 %, of storage rows
/// 10 %.
double default_tau(const std::string& metric);

/// Results that the runs of a command left, one set per run: each must be of a session that was not
/// there before, and measured while that run lasted.
class FreshResults {
 public:
  /// The run lasted from `start_ns` to `end_ns` of CLOCK_MONOTONIC. Errc::measurement says what is
  /// stale.
  Status add(const analysis::ResultSet& set, std::int64_t start_ns, std::int64_t end_ns);

 private:
  std::set<std::string> sessions_;
};

}  // namespace sluice::gate
