// sluice/gate/compare/judge.h - one matched row: estimate, test, verdict. Used by compare.cpp
// alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/result_set.h"
#include "sluice/gate/compare/comparison.h"

namespace sluice::gate {

/// Fills everything but `p_holm`, `mde` and the verdict of a judged row. Returns whether the row is
/// to be judged; if not, verdict and reason are final. Either side may be null, not both.
struct Prepared {
  RowComparison row;
  bool judged = false;
  double log_standard_error = 0;  // of the log ratio, and its degrees of freedom: for the MDE
  double df = 0;
};
Prepared prepare(const analysis::PooledRow* base, const analysis::PooledRow* candidate,
                 const CompareOptions& options);

/// Adjusts the p values over all prepared rows that are judged, then gives each its verdict and
/// reason.
Status judge(std::vector<Prepared>& rows, const CompareOptions& options);

}  // namespace sluice::gate
