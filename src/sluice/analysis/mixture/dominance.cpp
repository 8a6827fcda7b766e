// sluice/analysis/mixture/dominance.cpp - who has most of a batch for what was asked for of it, and
// whom the threads spend their time on.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/mixture/analysis.h"

#include <algorithm>
#include <map>

namespace sluice::analysis {
namespace {

using results::BatchTime;
using results::WeightedRow;

constexpr double kEqual = 1e-9;  // relative: what rounding of shares makes of equal counts

/// Those of the batch with most samples for their share; empty: nobody's share is known.
std::vector<std::string> dominants_of(const BatchTime& batch,
                                      const std::map<std::string, double>& shares) {
  std::vector<std::string> first;
  double most = 0;
  for (const auto& [name, count] : batch.dataset_counts) {
    const auto share = shares.find(name);
    if (share == shares.end() || share->second <= 0) continue;
    const double amount = count / share->second;
    if (amount > most * (1 + kEqual)) {
      first.clear();
      most = amount;
    }
    if (amount >= most * (1 - kEqual)) first.push_back(name);
  }
  return first;
}

}  // namespace

std::optional<WeightedDominance> weighted_dominance(
    const std::vector<const BatchTime*>& measured,
    const std::vector<MixtureFacts::Source>& sources) {
  std::map<std::string, double> shares;
  std::map<std::string, WeightedRow> rows;
  for (const MixtureFacts::Source& source : sources) {
    shares[source.name] = source.requested;
    rows[source.name].name = source.name;
  }
  WeightedDominance out;
  std::uint64_t places = 0, switches = 0, neighbours = 0;
  std::string before;  // the dominant of the batch before, where it was alone
  for (const BatchTime* batch : measured) {
    const auto first = dominants_of(*batch, shares);
    if (const auto found = rows.find(batch->dominant_dataset); found != rows.end())
      ++found->second.by_count;
    if (first.empty()) {
      before.clear();
      continue;
    }
    ++out.batches;
    places += first.size();
    const bool alone = first.size() == 1;
    out.decided += alone ? 1 : 0;
    for (const std::string& name : first) {
      WeightedRow& row = rows[name];
      ++(alone ? row.alone : row.tied);
      row.mean_s += batch->dt_s;
    }
    if (alone && !before.empty()) {
      ++neighbours;
      switches += before == first.front() ? 0 : 1;
    }
    before = alone ? first.front() : std::string();
  }
  if (out.batches == 0) return std::nullopt;
  out.mean_tied = static_cast<double>(places) / static_cast<double>(out.batches);
  if (neighbours > 0)
    out.switch_rate = static_cast<double>(switches) / static_cast<double>(neighbours);
  for (auto& [name, row] : rows) {
    const std::uint64_t n = row.alone + row.tied;
    if (n > 0) row.mean_s /= static_cast<double>(n);
    out.rows.push_back(std::move(row));
  }
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [](const WeightedRow& a, const WeightedRow& b) {
                     return a.alone != b.alone ? a.alone > b.alone : a.tied > b.tied;
                   });
  return out;
}

std::vector<BottleneckRow> bottlenecks_of(const std::vector<MixtureFacts::Source>& sources) {
  std::vector<BottleneckRow> rows;
  double time_s = 0;
  double samples = 0;
  for (const MixtureFacts::Source& source : sources) {
    time_s += source.read_s + source.decode_s;
    samples += static_cast<double>(source.samples_read);
  }
  if (!(time_s > 0) || !(samples > 0)) return rows;
  const auto each_ms = [](double seconds, std::uint64_t count) {
    return count > 0 ? 1e3 * seconds / static_cast<double>(count) : 0;
  };
  for (const MixtureFacts::Source& source : sources) {
    const double own_s = source.read_s + source.decode_s;
    rows.push_back({.name = source.name,
                    .read_ms = each_ms(source.read_s, source.samples_read),
                    .decode_ms = each_ms(source.decode_s, source.samples_decoded),
                    .time_s = own_s,
                    .share = own_s / time_s,
                    .of_samples = static_cast<double>(source.samples_read) / samples,
                    .starved = source.starved});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const BottleneckRow& a, const BottleneckRow& b) {
    return a.time_s > b.time_s;
  });
  return rows;
}

}  // namespace sluice::analysis
