// sluice/analysis/sweep/worker_guide.h - what more loader workers bring and cost, from a sweep over
// them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/loader_metrics.h"

#include <optional>
#include <span>

namespace sluice::analysis {

/// A line of a sweep.
struct WorkerPoint {
  int workers = 0;
  double rate = 0;                       // samples per second
  std::optional<double> memory_bytes{};  // largest resident set of the loading process
};

struct WorkerSetting {
  unsigned cores = 1;     // usable
  double free_bytes = 0;  // of memory; 0: not known
  bool remote = false;    // the input is a bucket
};

/// The best line of each number of workers counts. Nothing with fewer than two numbers of workers
/// that were measured.
std::optional<results::WorkerGuide> worker_guide(std::span<const WorkerPoint> points,
                                                 const WorkerSetting& setting);

}  // namespace sluice::analysis
