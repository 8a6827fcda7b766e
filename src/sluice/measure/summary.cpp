// sluice/measure/summary.cpp - statistics of a row from its raw samples.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/summary.h"

#include "sluice/stats/bootstrap.h"
#include "sluice/stats/summary.h"
#include "sluice/stats/t_test.h"

#include <array>
#include <cmath>
#include <numeric>

namespace sluice::measure {
namespace {

constexpr double kNsPerS = 1e9;

std::vector<double> sample_rates(const Row& row) {
  std::vector<double> rates;
  for (const Run& run : row.runs) {
    for (const std::int64_t ns : run.samples_ns) {
      if (ns > 0)
        rates.push_back(static_cast<double>(row.items_per_sample) * kNsPerS /
                        static_cast<double>(ns));
    }
  }
  return rates;
}

/// Between runs where there are several (two give a wide interval, as they should), else between
/// the samples of the one run.
std::optional<Interval> interval(const std::vector<double>& by_run,
                                 const std::vector<double>& by_sample) {
  if (by_run.size() >= 2) {
    const auto estimate = stats::geometric_mean_interval(by_run);
    if (estimate) return Interval{estimate->low, estimate->high, "t on log run means", "run"};
  }
  if (by_sample.size() >= 2) {
    const auto estimate = stats::moving_block_bootstrap(
        by_sample, [](stats::Sample values) { return *stats::mean(values); });
    if (estimate)
      return Interval{estimate->low, estimate->high, "moving-block bootstrap", "iteration"};
  }
  return std::nullopt;
}

double wall_ns_of(const Run& run) {
  return std::accumulate(run.samples_ns.begin(), run.samples_ns.end(), 0.0);
}

double cpu_per_wall(const std::vector<Run>& runs) {
  double cpu = 0;
  double wall = 0;
  for (const Run& run : runs) {
    cpu += static_cast<double>(run.cpu_ns);
    wall += wall_ns_of(run);
  }
  return wall > 0 ? cpu / wall : 0;
}

}  // namespace

double spare_cores(const std::vector<Run>& runs) {
  constexpr double kSpareNs = 1e6;
  double samples = 0, wall_ns = 0;
  for (const Run& run : runs) {
    samples += static_cast<double>(run.samples_ns.size());
    wall_ns += wall_ns_of(run);
  }
  return wall_ns > 0 ? kSpareNs * samples / wall_ns : 0;
}

double run_rate(const Run& run, std::int64_t items_per_sample) {
  const double ns = wall_ns_of(run);
  if (ns <= 0) return 0;
  return static_cast<double>(items_per_sample) * static_cast<double>(run.samples_ns.size()) *
         kNsPerS / ns;
}

std::vector<double> run_rates(const Row& row) {
  std::vector<double> rates;
  for (const Run& run : row.runs) {
    const double rate = run_rate(run, row.items_per_sample);
    if (rate > 0) rates.push_back(rate);
  }
  return rates;
}

void summarise(Row& row, double unstable_cv) {
  const std::vector<double> by_run = run_rates(row);
  const std::vector<double> by_sample = sample_rates(row);
  row.thread_policy.cpu_per_wall = cpu_per_wall(row.runs);
  row.summary.reset();
  if (by_run.empty() || by_sample.empty()) return;
  constexpr std::array<double, 4> kPercentiles{10, 50, 90, 99};
  Summary summary;
  summary.n_runs = static_cast<int>(by_run.size());
  summary.n_samples = static_cast<int>(by_sample.size());
  summary.median = *stats::median(by_run);
  summary.mean = *stats::mean(by_run);
  if (by_run.size() >= 2) {
    summary.sd = *stats::sd(by_run);
    summary.cv = summary.sd / summary.mean;
  }
  const auto percentiles = *stats::percentiles(by_sample, kPercentiles);
  summary.p10 = percentiles[0];
  summary.p50 = percentiles[1];
  summary.p90 = percentiles[2];
  summary.p99 = percentiles[3];
  summary.ci95 = interval(by_run, by_sample);
  summary.unstable = summary.cv > unstable_cv;
  row.summary = summary;
}

}  // namespace sluice::measure
