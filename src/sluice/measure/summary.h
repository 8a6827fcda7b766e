// sluice/measure/summary.h - runs to one line of numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"

#include <vector>

namespace sluice::measure {

/// Items per second of one run: all its items over all its time, so that stalls count.
double run_rate(const Run& run, std::int64_t items_per_sample);
/// One rate per run, in order.
std::vector<double> run_rates(const Row& row);

/// Fills `summary` and the measured part of `thread_policy` from `runs`; no runs, no summary.
void summarise(Row& row, double unstable_cv);

}  // namespace sluice::measure
