// sluice/analysis/batch_estimates.h - what a sweep over batch sizes says about batches that were
// not tried.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/training_metrics.h"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sluice::analysis {

struct BatchPoint {
  std::int64_t batch = 0;
  double peak_bytes = 0;
  double samples_per_s = 0;
  std::optional<double> compute_use{};  // of the GPU, 0 to 1
};

/// The largest batch that should fit: least squares of peak = fixed + per_sample · batch (fixed not
/// below 0), then 85 % of the memory, at most four times the largest batch tried.
using results::MaxBatch;
/// Nothing with fewer than two different batches, or where memory does not grow with the batch.
std::optional<MaxBatch> max_batch(std::span<const BatchPoint> points, double total_bytes);

/// The smallest batch within 2 % of the best rate. Batches that did not fit are not among the
/// points. Nothing without a rate above 0.
using results::BestBatch;
std::optional<BestBatch> best_batch(std::span<const BatchPoint> points);

/// Where larger batches stop paying. The rate is modelled as c·B·C / (C + B); every pair of points
/// whose efficiency (samples/s over B) falls gives a C, the median counts, rounded to a power of
/// two. This is about speed; it does not say how a model learns.
struct CriticalBatch {
  std::int64_t batch = 1;
  bool exceeds_tested = false;  // no pair fell: `batch` is the largest that was tried
  std::vector<std::pair<std::int64_t, double>> scaling_efficiency;  // over that of the smallest
};
/// Nothing with fewer than two points of a rate above 0.
std::optional<CriticalBatch> critical_batch(std::span<const BatchPoint> points);

}  // namespace sluice::analysis
