// sluice/analysis/world_scaling.cpp - from the details that rank 0 wrote.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/world_scaling.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/analysis/training_use.h"
#include "sluice/measure/summary.h"
#include "sluice/stats/summary.h"

#include <algorithm>
#include <array>

namespace sluice::analysis {
namespace {

using measure::Row;

/// All of a list of numbers in the samples' details of a run, in milliseconds.
std::vector<double> milliseconds(const Json& list) {
  std::vector<double> values;
  for (const Json& one : list)
    if (one.is_number()) values.push_back(one.get<double>() * 1e-6);
  return values;
}

void append(std::vector<double>& to, const Json& list) {
  const std::vector<double> more = milliseconds(list);
  to.insert(to.end(), more.begin(), more.end());
}

double median_or_zero(const std::vector<double>& values) {
  const auto median = stats::median(values);
  return median ? *median : 0;
}

constexpr std::array<double, 2> kMiddleAndTail{50, 99};

std::optional<std::string> host_of(const Json& hosts, std::size_t rank) {
  if (rank >= hosts.size() || !hosts[rank].is_string()) return std::nullopt;
  return hosts[rank].get<std::string>();
}

/// By rank; each list is of the same steps.
std::vector<results::RankWait> waits_of(const std::vector<std::vector<double>>& by_rank,
                                        const Json& hosts) {
  std::vector<results::RankWait> waits;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const auto found = stats::percentiles(by_rank[rank], kMiddleAndTail);
    if (!found) continue;
    waits.push_back(
        {static_cast<std::int64_t>(rank), host_of(hosts, rank), (*found)[0], (*found)[1]});
  }
  return waits;
}

/// Nothing for one rank, or where one has not told of every step.
std::optional<results::SlowestRank> slowest_of(const std::vector<results::RankWait>& waits,
                                               const std::vector<std::vector<double>>& by_rank) {
  if (waits.size() < 2 || waits.size() != by_rank.size()) return std::nullopt;
  const auto least = std::min_element(
      waits.begin(), waits.end(),
      [](const results::RankWait& a, const results::RankWait& b) { return a.p50_ms < b.p50_ms; });
  const auto slow = static_cast<std::size_t>(least->rank);
  const std::size_t steps = by_rank[slow].size();
  std::vector<double> longer;
  std::size_t last = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    bool waited_least = true;
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
      if (by_rank[rank].size() != steps) return std::nullopt;
      if (rank == slow) continue;
      const double more = by_rank[rank][step] - by_rank[slow][step];
      longer.push_back(std::max(more, 0.0));
      if (more < 0) waited_least = false;
    }
    if (waited_least) ++last;
  }
  const auto found = stats::percentiles(longer, kMiddleAndTail);
  if (!found) return std::nullopt;
  return results::SlowestRank{least->rank, least->host, (*found)[0], (*found)[1],
                              static_cast<double>(last) / static_cast<double>(steps)};
}

}  // namespace

std::optional<results::WorldScaling> world_scaling(const Row& together, const Row& alone) {
  if (together.status != measure::RowStatus::ok || alone.status != measure::RowStatus::ok)
    return std::nullopt;
  const auto use = training_use(together);
  const auto reference = training_use(alone);
  if (!use || !reference) return std::nullopt;
  results::WorldScaling scaling;
  std::vector<double> exposed, in_flight;
  std::vector<std::vector<double>> waited;
  Json hosts = Json::array();
  for (const Json& sample : together.runs[use->best_run].details) {
    const auto world = sample.find("world");
    if (world == sample.end()) continue;
    scaling.world_size = world->value("size", std::int64_t{1});
    scaling.bytes = world->value("bytes", 0.0);
    scaling.library = world->value("library", std::string());
    append(exposed, world->value("exposed_ns", Json::array()));
    append(in_flight, world->value("in_flight_ns", Json::array()));
    hosts = world->value("hosts", Json::array());
    const Json lists = world->value("waited_ns", Json::array());
    waited.resize(std::max(waited.size(), lists.size()));
    for (std::size_t rank = 0; rank < lists.size(); ++rank)
      append(waited[rank], lists[rank]);
  }
  if (exposed.empty()) return std::nullopt;
  const double ranks = static_cast<double>(scaling.world_size);
  const double step_s = *stats::median(use->step_s);
  scaling.samples_per_s = static_cast<double>(together.items_per_sample) / step_s;
  scaling.steps_per_s = 1 / step_s;
  scaling.alone_samples_per_s =
      static_cast<double>(alone.items_per_sample) / *stats::median(reference->step_s);
  scaling.efficiency = scaling.samples_per_s / (ranks * scaling.alone_samples_per_s);
  if (auto ratio = row_ratio(together, alone, true)) {
    ratio->point /= ranks;
    ratio->low /= ranks;
    ratio->high /= ranks;
    scaling.efficiency_of_runs = *ratio;
  }
  scaling.exposed_ms = median_or_zero(exposed);
  scaling.in_flight_ms = median_or_zero(in_flight);
  scaling.exposed_share = scaling.exposed_ms * 1e-3 / step_s;
  if (scaling.in_flight_ms > 0) {
    scaling.hidden_share = std::max(0.0, 1 - scaling.exposed_ms / scaling.in_flight_ms);
    // What a ring moves over every link, over the whole span: waits for backward are in it.
    scaling.bus_bytes_per_s =
        2 * (ranks - 1) / ranks * scaling.bytes / (scaling.in_flight_ms * 1e-3);
  }
  scaling.waits = waits_of(waited, hosts);
  scaling.slowest = slowest_of(scaling.waits, waited);
  return scaling;
}

}  // namespace sluice::analysis
