// sluice/analysis/storage_metrics.cpp - rows of `bench storage`, summed up over samples and runs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/storage_metrics.h"

#include "sluice/stats/t_test.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace sluice::analysis {
namespace {

std::string param(const measure::Row& row, const char* name, const char* otherwise) {
  const auto found = row.params.find(name);
  return found == row.params.end() ? otherwise : found->second;
}

std::uint64_t whole_number(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

stats::Estimate over_runs(const std::vector<double>& values) {
  if (const auto estimate = stats::geometric_mean_interval(values)) return *estimate;
  const double point = median(values);
  return {point, point, point};
}

/// Numbers named `name` in the latencies of each run: the median over its samples.
std::vector<double> latencies(const measure::Row& row, const char* name) {
  std::vector<double> runs;
  for (const measure::Run& run : row.runs) {
    std::vector<double> samples;
    if (!run.details.is_array()) continue;
    for (const Json& sample : run.details) {
      const Json found = sample.value("latency_us", Json::object()).value(name, Json());
      if (found.is_number()) samples.push_back(found.get<double>());
    }
    if (!samples.empty()) runs.push_back(median(samples));
  }
  return runs;
}

std::optional<ReadLatency> latency_of(const measure::Row& row) {
  const std::vector<double> p50 = latencies(row, "p50");
  const std::vector<double> p90 = latencies(row, "p90");
  const std::vector<double> p99 = latencies(row, "p99");
  if (p50.empty() || p90.empty() || p99.empty()) return std::nullopt;
  ReadLatency latency{over_runs(p50), over_runs(p90), over_runs(p99)};
  for (const measure::Run& run : row.runs) {
    for (const Json& sample : run.details)
      latency.max =
          std::max(latency.max, sample.value("latency_us", Json::object()).value("max", 0.0));
  }
  return latency;
}

void find_cache(StorageLine& line, const measure::Row& row) {
  std::set<std::string> states;
  for (const measure::Run& run : row.runs) {
    if (!run.details.is_array()) continue;
    for (const Json& sample : run.details) {
      const Json cache = sample.value("cache", Json::object());
      states.insert(cache.value("state", std::string("unknown")));
      if (const Json share = cache.value("resident_share", Json()); share.is_number())
        line.resident_share = std::max(line.resident_share.value_or(0), share.get<double>());
    }
  }
  line.cache = states.empty()       ? "unknown"
               : states.size() == 1 ? *states.begin()
                                    : std::string("mixed");
}

/// How many reads, how large, and how many of them can only have come from memory.
void find_reads(StorageLine& line, const measure::Row& row) {
  const auto number = [](const Json& sample, const char* name) -> std::optional<double> {
    const Json found = sample.value(name, Json());
    return found.is_number() ? std::optional(found.get<double>()) : std::nullopt;
  };
  const auto whole = [](double value) { return static_cast<std::uint64_t>(std::max(0.0, value)); };
  for (const measure::Run& run : row.runs) {
    if (!run.details.is_array()) continue;
    for (const Json& sample : run.details) {
      if (!sample.is_object()) continue;
      if (const auto reads = number(sample, "reads"))
        line.reads = std::min(line.reads.value_or(whole(*reads)), whole(*reads));
      if (const auto bytes = number(sample, "smallest"))
        line.smallest = std::min(line.smallest.value_or(whole(*bytes)), whole(*bytes));
      if (const auto bytes = number(sample, "largest"))
        line.largest = std::max(line.largest.value_or(0), whole(*bytes));
      if (const auto share = number(sample, "memory_share"))
        line.memory_share = std::max(line.memory_share.value_or(0), *share);
    }
  }
}

}  // namespace

std::vector<StorageLine> storage_lines(const std::vector<measure::Row>& rows) {
  constexpr std::string_view kPrefix = "storage/";
  std::vector<StorageLine> lines;
  for (const measure::Row& row : rows) {
    if (row.case_name.rfind(kPrefix, 0) != 0) continue;
    StorageLine line;
    const std::size_t end = row.case_name.find('/', kPrefix.size());
    line.pattern = row.case_name.substr(kPrefix.size(), end - kPrefix.size());
    line.mode = param(row, "mode", "remote");
    line.concurrency = static_cast<int>(whole_number(param(row, "concurrency", "1")));
    line.size = whole_number(param(row, "size", "0"));
    line.status = row.status;
    line.reason = row.reason;
    if (row.summary && !row.runs.empty()) {
      const measure::Summary& sum = *row.summary;
      stats::Estimate rate{sum.mean, sum.mean, sum.mean};
      if (sum.ci95) rate = {sum.mean, sum.ci95->low, sum.ci95->high};
      const double mb = row.bytes_per_item * 1e-6;
      line.rate = rate;
      line.mb_per_s = stats::Estimate{rate.point * mb, rate.low * mb, rate.high * mb};
      line.latency_us = latency_of(row);
      find_cache(line, row);
      find_reads(line, row);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace sluice::analysis
