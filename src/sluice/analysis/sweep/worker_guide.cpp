// sluice/analysis/sweep/worker_guide.cpp - the knee of rates over workers, and a line through their
// memory.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/sweep/worker_guide.h"

#include "sluice/stats/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice::analysis {
namespace {

constexpr double kWorthDoubling = 0.1;     // of the rate, for twice the workers
constexpr double kMemoryForWorkers = 0.4;  // of what is free

using BestByWorkers = std::map<int, WorkerPoint>;

BestByWorkers best_by_workers(std::span<const WorkerPoint> points) {
  BestByWorkers best;
  for (const WorkerPoint& point : points) {
    if (!(point.rate > 0)) continue;
    WorkerPoint& kept = best.try_emplace(point.workers, point).first->second;
    if (point.rate > kept.rate) kept = point;
  }
  return best;
}

measure::Measured<double> memory_slope(const BestByWorkers& best) {
  std::vector<double> workers, bytes;
  for (const auto& [count, point] : best) {
    if (!point.memory_bytes) continue;
    workers.push_back(count);
    bytes.push_back(*point.memory_bytes);
  }
  if (workers.size() < 2) return {std::nullopt, "the memory of two settings is needed"};
  const auto fit = stats::theil_sen(workers, bytes);
  const double slope =
      fit ? fit->slope.point : (bytes.back() - bytes.front()) / (workers.back() - workers.front());
  if (!(slope > 0)) return {std::nullopt, "memory does not grow with the workers"};
  return {slope, ""};
}

/// The first number of workers from which no larger one brings 10 % per doubling.
std::optional<int> knee_of(const BestByWorkers& best) {
  for (auto at = best.begin(); at != best.end(); ++at) {
    if (at->first < 1) continue;
    const bool pays = std::any_of(std::next(at), best.end(), [&](const auto& more) {
      const double doublings = std::log2(static_cast<double>(more.first) / at->first);
      return more.second.rate > at->second.rate * (1 + kWorthDoubling * doublings);
    });
    if (!pays) return std::next(at) != best.end() ? std::optional(at->first) : std::nullopt;
  }
  return std::nullopt;
}

std::string plural(int workers) {
  return fmt::format("{} worker{}", workers, workers == 1 ? "" : "s");
}

std::string memory_line(double bytes_per_worker, const WorkerSetting& setting) {
  std::string line = fmt::format("a worker takes {:.1f} MB more", bytes_per_worker / 1e6);
  if (setting.free_bytes > 0)
    line += fmt::format(": {:.0f} workers fit into 40 % of the {:.1f} GB that are free",
                        std::floor(kMemoryForWorkers * setting.free_bytes / bytes_per_worker),
                        setting.free_bytes / 1e9);
  return line;
}

/// Of a bucket: what workers beyond the cores brought, if any were tried.
std::string bucket_line(const BestByWorkers& best, unsigned cores) {
  const auto cores_tried = best.find(static_cast<int>(cores));
  const WorkerPoint* more = nullptr;
  for (const auto& [count, point] : best)
    if (count > static_cast<int>(cores) && (more == nullptr || point.rate > more->rate))
      more = &point;
  if (cores_tried == best.end() || more == nullptr)
    return fmt::format(
        "the input is a bucket, for which workers wait: measure more than the {} cores too, "
        "--sweep workers={},{},{}",
        cores, cores, 2 * cores, 4 * cores);
  return fmt::format("the input is a bucket: {} are {:.2f} x as fast as one per core",
                     plural(more->workers), more->rate / cores_tried->second.rate);
}

}  // namespace

std::optional<results::WorkerGuide> worker_guide(std::span<const WorkerPoint> points,
                                                 const WorkerSetting& setting) {
  const BestByWorkers best = best_by_workers(points);
  if (best.size() < 2) return std::nullopt;
  results::WorkerGuide guide;
  guide.bytes_per_worker = memory_slope(best);
  guide.knee = knee_of(best);
  guide.most = best.rbegin()->first;
  if (guide.knee) {
    double beyond = 0;
    for (auto at = best.upper_bound(*guide.knee); at != best.end(); ++at)
      beyond = std::max(beyond, at->second.rate);
    guide.past_knee = beyond / best.at(*guide.knee).rate;
    guide.advice.push_back(
        fmt::format("past {} returns diminish: up to {} were tried, the best of them {:.2f} x as "
                    "fast",
                    plural(*guide.knee), *guide.most, guide.past_knee));
  } else {
    guide.advice.push_back(fmt::format(
        "the rate still rises at {}, the most that were tried: measure more", plural(*guide.most)));
  }
  if (guide.bytes_per_worker.value)
    guide.advice.push_back(memory_line(*guide.bytes_per_worker.value, setting));
  if (setting.remote) guide.advice.push_back(bucket_line(best, setting.cores));
  return guide;
}

}  // namespace sluice::analysis
