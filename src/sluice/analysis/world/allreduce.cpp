// sluice/analysis/world/allreduce.cpp - from the details that rank 0 wrote.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/world/allreduce.h"

#include "sluice/measure/axes.h"
#include "sluice/measure/summary.h"
#include "sluice/stats/bootstrap.h"
#include "sluice/stats/summary.h"
#include "sluice/stats/t_test.h"

#include <string>

namespace sluice::analysis {
namespace {

using measure::Row;
using measure::Run;

/// The same run, of one size: `place` in the lists of its details.
Run run_of_size(const Run& run, std::size_t place) {
  Run one = run;
  one.samples_ns.clear();
  one.cpu_ns = 0;
  one.details = Json::array();
  for (const Json& sample : run.details) {
    const Json& size = sample.at("sizes").at(place);
    one.samples_ns.push_back(size.at("elapsed_ns").get<std::int64_t>());
    one.cpu_ns += size.at("cpu_ns").get<std::int64_t>();
    one.details.push_back(Json{{"world_size", sample.at("world_size")},
                               {"machines", sample.at("machines")},
                               {"library", sample.at("library")}});
  }
  return one;
}

double middle(stats::Sample values) {
  return *stats::median(values);
}

/// Sums a second: of each run its middle sample, so that what else ran on the machine does not
/// count; of several runs their geometric mean. A confidence of 0: one sample has no interval.
stats::Estimate rate_of(const Row& row) {
  std::vector<double> by_run, by_sample;
  for (const Run& run : row.runs) {
    by_sample.clear();
    for (const std::int64_t ns : run.samples_ns)
      by_sample.push_back(static_cast<double>(row.items_per_sample) * 1e9 /
                          static_cast<double>(ns));
    by_run.push_back(middle(by_sample));
  }
  if (by_run.size() > 1)
    if (const auto estimate = stats::geometric_mean_interval(by_run)) return *estimate;
  const double point = by_run.front();
  if (by_sample.size() > 1)
    if (const auto estimate = stats::moving_block_bootstrap(by_sample, middle)) return *estimate;
  return {point, point, point, 0};
}

stats::Estimate scaled(const stats::Estimate& rate, double factor) {
  return {rate.point * factor, rate.low * factor, rate.high * factor, rate.confidence};
}

stats::Estimate inverse(const stats::Estimate& rate, double factor) {
  return {factor / rate.point, factor / rate.high, factor / rate.low, rate.confidence};
}

}  // namespace

double ring_share(double ranks) {
  return 2 * (ranks - 1) / ranks;
}

std::vector<Row> rows_by_size(const Row& ladder, double unstable_cv) {
  if (ladder.runs.empty() || !ladder.runs.front().details.is_array()) return {ladder};
  std::vector<Row> rows;
  const Json& sizes = ladder.runs.front().details.at(0).at("sizes");
  for (std::size_t place = 0; place < sizes.size(); ++place) {
    Row& row = rows.emplace_back(ladder);
    const auto bytes = sizes[place].at("bytes").get<std::int64_t>();
    row.params["bytes"] = std::to_string(bytes);
    row.case_name = measure::case_name("allreduce/sum", {row.params});
    row.bytes_per_item = static_cast<double>(bytes);
    row.items_per_sample = sizes[place].at("sums").get<std::int64_t>();
    row.runs.clear();
    for (const Run& run : ladder.runs) {
      row.runs.push_back(run_of_size(run, place));
      const std::string before = "/" + ladder.case_name + "/";
      if (const std::size_t at = row.runs.back().run_id.find(before); at != std::string::npos)
        row.runs.back().run_id.replace(at, before.size(), "/" + row.case_name + "/");
    }
    measure::summarise(row, unstable_cv);
  }
  return rows;
}

std::optional<results::AllreduceSummary> allreduce_summary(const std::vector<Row>& rows) {
  results::AllreduceSummary summary;
  for (const Row& row : rows) {
    if (!row.case_name.starts_with("allreduce/sum/bytes=") || !row.summary || row.runs.empty())
      continue;
    const Json& world = row.runs.front().details.at(0);
    summary.world_size = world.at("world_size").get<std::int64_t>();
    summary.machines = world.at("machines").get<std::int64_t>();
    summary.library = world.at("library").get<std::string>();
    results::AllreduceLine& line = summary.lines.emplace_back();
    line.bytes = static_cast<std::int64_t>(row.bytes_per_item);
    line.sums = row.items_per_sample;
    const double gigabytes = row.bytes_per_item * 1e-9;
    const stats::Estimate rate = rate_of(row);
    line.time_us = inverse(rate, 1e6);
    line.algorithm_gb_per_s = scaled(rate, gigabytes);
    line.bus_gb_per_s =
        scaled(rate, gigabytes * ring_share(static_cast<double>(summary.world_size)));
  }
  if (summary.lines.empty()) return std::nullopt;
  return summary;
}

}  // namespace sluice::analysis
