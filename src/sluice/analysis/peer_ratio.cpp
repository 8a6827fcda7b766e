// sluice/analysis/peer_ratio.cpp - pairs by block, ratio of rates, interval.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/peer_ratio.h"

#include "sluice/measure/summary.h"
#include "sluice/stats/t_test.h"

#include <cmath>
#include <map>

namespace sluice::analysis {
namespace {

std::map<int, double> rate_by_block(const measure::Row& row) {
  std::map<int, double> rates;
  for (const measure::Run& run : row.runs) {
    const double rate = measure::run_rate(run, row.items_per_sample);
    if (rate > 0) rates[run.block] = rate;
  }
  return rates;
}

std::vector<double> paired_ratios(const std::map<int, double>& ours,
                                  const std::map<int, double>& theirs) {
  std::vector<double> ratios;
  for (const auto& [block, rate] : theirs) {
    const auto pair = ours.find(block);
    if (pair != ours.end()) ratios.push_back(pair->second / rate);
  }
  return ratios;
}

bool comparable(const measure::Row& ours, const measure::Row& theirs) {
  return ours.case_name == theirs.case_name && ours.library != theirs.library &&
         ours.unit == theirs.unit && ours.status == measure::RowStatus::ok &&
         theirs.status == measure::RowStatus::ok;
}

}  // namespace

std::vector<PeerRatio> peer_ratios(const results::ResultFile& file, const std::string& library) {
  std::vector<PeerRatio> found;
  for (const measure::Row& ours : file.rows) {
    if (ours.library != library) continue;
    const auto our_rates = rate_by_block(ours);
    for (const measure::Row& theirs : file.rows) {
      if (!comparable(ours, theirs)) continue;
      const std::vector<double> ratios = paired_ratios(our_rates, rate_by_block(theirs));
      const auto estimate = stats::geometric_mean_interval(ratios);
      if (!estimate) continue;  // fewer than two pairs
      found.push_back(PeerRatio{ours.case_name, library, theirs.library, *estimate,
                                static_cast<int>(ratios.size())});
    }
  }
  return found;
}

std::optional<stats::Estimate> row_ratio(const measure::Row& fast, const measure::Row& slow,
                                         bool same_session) {
  if (same_session) {
    const auto paired =
        stats::geometric_mean_interval(paired_ratios(rate_by_block(fast), rate_by_block(slow)));
    if (paired) return *paired;
  }
  const auto test = stats::welch_t_on_logs(measure::run_rates(fast), measure::run_rates(slow));
  if (!test) return std::nullopt;
  const stats::Estimate ratio{std::exp(test->difference), std::exp(test->interval.low),
                              std::exp(test->interval.high), test->interval.confidence};
  return std::isfinite(ratio.high) ? std::optional(ratio) : std::nullopt;
}

}  // namespace sluice::analysis
