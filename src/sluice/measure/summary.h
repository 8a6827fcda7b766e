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

/// Cores that runs may seem to keep busy beside their own. CPU time is read just outside of a
/// sample: while the thread that reads it is off its core the others may spin, which in samples of
/// a millisecond looks like another core. A millisecond a sample.
double spare_cores(const std::vector<Run>& runs);

}  // namespace sluice::measure
