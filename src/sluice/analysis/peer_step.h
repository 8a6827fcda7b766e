// sluice/analysis/peer_step.h - another library's loader before a step of a known time: what
// limits it, and which of the settings that were tried is faster.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/measure/record.h"
#include "sluice/results/conclusions.h"

#include <string>
#include <vector>

namespace sluice::analysis {

/// A setting of the loader; `together` is its row with the step, in the same blocks as all others.
struct LoaderTry {
  int workers = 0;
  std::string paste;  // the line that sets it
  measure::Row together;
};

/// Such a loader tells no stages: the verdict comes from times, the advice from what was tried.
/// `tried` holds the present setting first. An Error gives the reason of a row that failed; a
/// setting that failed costs itself.
Result<results::Diagnosis> peer_diagnosis(const measure::Row& alone,
                                          const std::vector<LoaderTry>& tried, double step_ms,
                                          int batch);

}  // namespace sluice::analysis
