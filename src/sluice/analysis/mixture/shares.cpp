// sluice/analysis/mixture/shares.cpp - counts to shares, the largest data sets by name.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/mixture/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace sluice::analysis {
namespace {

using results::BatchTime;

struct Counted {
  const BatchTime* batch;
  double total;
};

/// Names by the sum of their shares; equal ones in the order of their names.
std::vector<std::string> by_share(const std::vector<Counted>& batches) {
  std::map<std::string, double> sums;
  for (const Counted& one : batches)
    for (const auto& count : one.batch->dataset_counts)
      sums[count.first] += static_cast<double>(count.second) / one.total;
  std::vector<std::string> names;
  for (const auto& sum : sums)
    names.push_back(sum.first);
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return sums[a] > sums[b]; });
  return names;
}

}  // namespace

Result<MixtureShares> mixture_shares(std::span<const BatchTime> batches, std::size_t top_k) {
  std::vector<Counted> counted;
  std::size_t measured = 0;
  for (const BatchTime& batch : batches) {
    if (batch.is_warmup) continue;
    ++measured;
    double total = 0;
    for (const auto& count : batch.dataset_counts)
      total += count.second;
    if (total > 0) counted.push_back({&batch, total});
  }
  if (counted.empty()) {
    return Error{Errc::invalid_input,
                 measured == 0 ? "Not enough measured batches: there is none after the warm-up"
                               : fmt::format("Not enough measured batches: none of {} says which "
                                             "data sets it holds; measure with metadata",
                                             measured)};
  }
  MixtureShares out;
  out.batches = counted.size();
  out.names = by_share(counted);
  out.has_other = out.names.size() > std::max<std::size_t>(top_k, 1);
  if (out.has_other) {
    out.names.resize(std::max<std::size_t>(top_k, 1));
    out.names.emplace_back("other");
  }
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < out.names.size() - (out.has_other ? 1 : 0); ++i)
    place[out.names[i]] = i;
  out.series.assign(out.names.size(), std::vector<double>(counted.size()));
  for (std::size_t i = 0; i < counted.size(); ++i) {
    for (const auto& count : counted[i].batch->dataset_counts) {
      const auto found = place.find(count.first);
      const std::size_t at = found == place.end() ? out.names.size() - 1 : found->second;
      out.series[at][i] += static_cast<double>(count.second) / counted[i].total;
    }
  }
  for (const auto& series : out.series)
    out.mean.push_back(std::accumulate(series.begin(), series.end(), 0.0) /
                       static_cast<double>(counted.size()));
  return out;
}

std::vector<double> rolling_mean(const std::vector<double>& values, std::size_t window) {
  const std::size_t half = window / 2;
  std::vector<double> sums(values.size() + 1);
  std::partial_sum(values.begin(), values.end(), sums.begin() + 1);
  std::vector<double> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t from = i - std::min(i, half);
    const std::size_t end = std::min(values.size(), i + half + 1);
    out.push_back((sums[end] - sums[from]) / static_cast<double>(end - from));
  }
  return out;
}

}  // namespace sluice::analysis
