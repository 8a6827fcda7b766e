// sluice/scenario/loader/details.cpp - differences of counters, and the spread of batch times.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/loader/details.h"

#include "sluice/core/file.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace sluice::scenario {
namespace {

using loader::LoaderStats;
using loader::StageTotals;

struct WorkerSums {
  std::int64_t busy_ns = 0, wait_ns = 0, other_ns = 0;
};

WorkerSums sums_of(const LoaderStats& stats) {
  WorkerSums sums;
  for (const loader::WorkerTotals& worker : stats.workers) {
    sums.busy_ns += worker.stages.all_ns();
    sums.wait_ns += worker.wait_ns;
    sums.other_ns += worker.other_ns;
  }
  return sums;
}

Json stages_between(const StageTotals& before, const StageTotals& after) {
  Json json = Json::object();
  for (std::size_t i = 0; i < loader::kStages; ++i) {
    const std::int64_t busy = after.busy_ns[i] - before.busy_ns[i];
    const std::uint64_t bytes = after.bytes[i] - before.bytes[i];
    if (busy == 0 && bytes == 0) continue;
    json[to_string(static_cast<loader::Stage>(i))] = Json{{"busy_ns", busy}, {"bytes", bytes}};
  }
  return json;
}

/// Busy time of each worker: one that does less than the others is seen here.
Json workers_between(const LoaderStats& before, const LoaderStats& after) {
  Json list = Json::array();
  for (std::size_t i = 0; i < after.workers.size(); ++i) {
    const auto& now = after.workers[i];
    const bool known = i < before.workers.size();
    list.push_back(now.stages.all_ns() - (known ? before.workers[i].stages.all_ns() : 0));
  }
  return list;
}

Json spread_of(std::span<const std::int64_t> batch_ns) {
  if (batch_ns.empty()) return nullptr;
  std::vector<double> ms;
  for (const std::int64_t ns : batch_ns)
    ms.push_back(static_cast<double>(ns) * 1e-6);
  const double mean = std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size());
  double squares = 0;
  for (const double value : ms)
    squares += (value - mean) * (value - mean);
  std::sort(ms.begin(), ms.end());
  const auto at = [&](double q) {  // nearest rank
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(ms.size())));
    return ms[std::max<std::size_t>(rank, 1) - 1];
  };
  return Json{{"mean", mean},      {"sd", std::sqrt(squares / static_cast<double>(ms.size()))},
              {"min", ms.front()}, {"p50", at(0.5)},
              {"p95", at(0.95)},   {"p99", at(0.99)},
              {"max", ms.back()}};
}

/// "RssAnon:      1234 kB" of /proc/self/status, in bytes; 0 when it is not there.
std::int64_t status_bytes(const char* name) {
  const auto text = read_text_file("/proc/self/status");
  if (!text) return 0;
  const std::size_t at = text->find(name);
  if (at == std::string::npos) return 0;
  return std::strtoll(text->c_str() + at + std::string_view(name).size(), nullptr, 10) * 1024;
}

}  // namespace

Json loader_details(const LoaderMoment& before, const LoaderMoment& after,
                    std::span<const std::int64_t> batch_ns) {
  const LoaderStats& was = before.stats;
  const LoaderStats& is = after.stats;
  const WorkerSums sums_before = sums_of(was);
  const WorkerSums sums = sums_of(is);
  Json json{{"wall_ns", after.at_ns - before.at_ns},
            {"workers", is.workers.size()},
            {"ring_slots", is.ring_slots},
            {"ring_bytes", is.ring_bytes},
            {"batches", is.batches - was.batches},
            {"samples", is.samples - was.samples},
            {"skipped", is.skipped - was.skipped},
            {"waited_batches", is.waited_batches - was.waited_batches},
            {"consumer_wait_ns", is.consumer_wait_ns - was.consumer_wait_ns},
            {"empty_ns", is.empty_ns - was.empty_ns},
            {"worker_busy_ns", sums.busy_ns - sums_before.busy_ns},
            {"worker_wait_ns", sums.wait_ns - sums_before.wait_ns},
            {"worker_other_ns", sums.other_ns - sums_before.other_ns},
            {"busy_ns_by_worker", workers_between(was, is)},
            {"stages", stages_between(was.stages(), is.stages())},
            {"pinning", is.pinning}};
  if (Json spread = spread_of(batch_ns); !spread.is_null()) json["batch_ms"] = std::move(spread);
  if (after.store.is_object()) json["store"] = counters_between(before.store, after.store);
  if (!is.skipped_samples.empty()) {
    Json names = Json::array();
    for (const loader::SkippedSample& one : is.skipped_samples)
      names.push_back(one.name + ": " + one.reason);
    json["skipped_samples"] = std::move(names);
  }
  return json;
}

Json counters_between(const Json& before, const Json& after) {
  if (after.is_object()) {
    Json json = Json::object();
    for (const auto& [key, value] : after.items()) {
      const bool known = before.is_object() && before.contains(key);
      json[key] = counters_between(known ? before[key] : Json(), value);
    }
    return json;
  }
  // Counts are whole; what is not is a percentile, which has no difference.
  if (!after.is_number_integer() || !before.is_number_integer()) return after;
  return after.get<std::int64_t>() - before.get<std::int64_t>();
}

std::int64_t anonymous_bytes() {
  return status_bytes("RssAnon:");
}

std::int64_t resident_bytes() {
  return status_bytes("VmRSS:");
}

std::int64_t touched_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return usage.ru_minflt * sysconf(_SC_PAGESIZE);
}

}  // namespace sluice::scenario
