// sluice/analysis/batch_estimates.cpp - a line through memory, a curve through rates.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/batch_estimates.h"

#include "sluice/stats/summary.h"

#include <algorithm>
#include <cmath>

namespace sluice::analysis {
namespace {

constexpr double kUsableMemory = 0.85;
constexpr double kFurthest = 4;  // times the largest batch that was tried
constexpr double kMostBatch = 1e9;

double three_decimals(double value) {
  return std::round(value * 1000) / 1000;
}

}  // namespace

std::optional<MaxBatch> max_batch(std::span<const BatchPoint> points, double total_bytes) {
  if (points.size() < 2 || !(total_bytes > 0)) return std::nullopt;
  double mean_batch = 0;
  double mean_bytes = 0;
  double largest = 0;
  for (const BatchPoint& point : points) {
    mean_batch += static_cast<double>(point.batch) / static_cast<double>(points.size());
    mean_bytes += point.peak_bytes / static_cast<double>(points.size());
    largest = std::max(largest, static_cast<double>(point.batch));
  }
  double products = 0;
  double squares = 0;
  for (const BatchPoint& point : points) {
    const double offset = static_cast<double>(point.batch) - mean_batch;
    products += offset * (point.peak_bytes - mean_bytes);
    squares += offset * offset;
  }
  if (!(squares > 0) || !(products > 0)) return std::nullopt;
  MaxBatch result;
  result.bytes_per_sample = products / squares;
  result.fixed_bytes = std::max(0.0, mean_bytes - result.bytes_per_sample * mean_batch);
  const double fits =
      std::floor((kUsableMemory * total_bytes - result.fixed_bytes) / result.bytes_per_sample);
  const double most = std::min(kFurthest * largest, kMostBatch);
  result.capped = fits > most;
  result.batch = static_cast<std::int64_t>(std::clamp(fits, 1.0, std::max(1.0, most)));
  return result;
}

std::optional<BestBatch> best_batch(std::span<const BatchPoint> points) {
  constexpr double kNearBest = 0.98;
  const BatchPoint* fastest = nullptr;
  for (const BatchPoint& point : points)
    if (point.samples_per_s > 0 &&
        (fastest == nullptr || point.samples_per_s > fastest->samples_per_s))
      fastest = &point;
  if (fastest == nullptr) return std::nullopt;
  const BatchPoint* best = fastest;
  for (const BatchPoint& point : points)
    if (point.samples_per_s >= kNearBest * fastest->samples_per_s && point.batch < best->batch)
      best = &point;
  return BestBatch{.batch = best->batch,
                   .samples_per_s = best->samples_per_s,
                   .of_best = best->samples_per_s / fastest->samples_per_s,
                   .fastest = fastest->batch,
                   .compute_use = best->compute_use,
                   .peak_bytes = best->peak_bytes};
}

std::optional<CriticalBatch> critical_batch(std::span<const BatchPoint> points) {
  std::vector<BatchPoint> used;
  for (const BatchPoint& point : points)
    if (point.batch > 0 && point.samples_per_s > 0) used.push_back(point);
  if (used.size() < 2) return std::nullopt;
  std::sort(used.begin(), used.end(),
            [](const BatchPoint& a, const BatchPoint& b) { return a.batch < b.batch; });
  const auto efficiency = [](const BatchPoint& point) {
    return point.samples_per_s / static_cast<double>(point.batch);
  };
  std::vector<double> found;
  for (std::size_t i = 0; i < used.size(); ++i) {
    for (std::size_t j = i + 1; j < used.size(); ++j) {
      const double fall = efficiency(used[i]) - efficiency(used[j]);
      if (!(fall > 0)) continue;
      const double critical = (used[j].samples_per_s - used[i].samples_per_s) / fall;
      if (critical > 0 && std::isfinite(critical)) found.push_back(critical);
    }
  }
  CriticalBatch result;
  for (const BatchPoint& point : used)
    result.scaling_efficiency.emplace_back(
        point.batch, three_decimals(efficiency(point) / efficiency(used.front())));
  const auto middle = stats::median(found);
  result.exceeds_tested = !middle;
  result.batch = used.back().batch;
  if (middle) {
    const double power = std::round(std::log2(std::clamp(*middle, 1.0, kMostBatch)));
    result.batch = static_cast<std::int64_t>(std::exp2(power));
  }
  return result;
}

}  // namespace sluice::analysis
