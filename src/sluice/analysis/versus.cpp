// sluice/analysis/versus.cpp - the fastest of the others that compute the same, the ratio to it,
// and what that counts as.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/versus.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/stats/t_test.h"

namespace sluice::analysis {
namespace {

constexpr double kTie = 0.97;  // a ratio from here on is no loss

bool counts(const measure::Row& row) {
  return row.status == measure::RowStatus::ok && row.summary && row.summary->median > 0;
}

Standing standing_of(const std::optional<stats::Estimate>& ratio) {
  if (!ratio) return Standing::alone;
  if (ratio->low > 1) return Standing::win;
  return ratio->high >= 1 || ratio->point >= kTie ? Standing::tie : Standing::loss;
}

Versus versus_of(const measure::Row& ours, const std::vector<measure::Row>& rows) {
  Versus one;
  one.case_name = ours.case_name;
  one.rate = ours.summary->median;
  one.bytes_per_item = ours.bytes_per_item;
  const measure::Row* fastest = nullptr;
  // One that computes something else counts only where nobody computes the same.
  const auto is_better = [&](const measure::Row& row) {
    if (fastest == nullptr) return true;
    if (fastest->not_comparable.empty() != row.not_comparable.empty())
      return row.not_comparable.empty();
    return row.summary->median > fastest->summary->median;
  };
  for (const measure::Row& row : rows) {
    if (row.case_name != ours.case_name || row.library == ours.library || !counts(row)) continue;
    if (row.library == kYardstick) {
      one.of_memcpy = row_ratio(ours, row, true);
      continue;
    }
    if (is_better(row)) fastest = &row;
  }
  if (fastest == nullptr) return one;
  one.peer = fastest->library;
  one.peer_rate = fastest->summary->median;
  one.ratio = row_ratio(ours, *fastest, true);
  one.comparable = fastest->not_comparable.empty();
  one.standing = one.comparable ? standing_of(one.ratio) : Standing::differs;
  return one;
}

}  // namespace

std::vector<Versus> versus_fastest(const std::vector<measure::Row>& rows,
                                   const std::string& library) {
  std::vector<Versus> list;
  for (const measure::Row& row : rows)
    if (row.library == library && counts(row)) list.push_back(versus_of(row, rows));
  return list;
}

VersusSummary summarise(const std::vector<Versus>& list, const std::vector<measure::Row>& rows,
                        const std::string& library) {
  VersusSummary summary;
  summary.rows = static_cast<int>(list.size());
  std::vector<double> ratios;
  for (const Versus& one : list) {
    summary.wins += one.standing == Standing::win ? 1 : 0;
    summary.ties += one.standing == Standing::tie ? 1 : 0;
    summary.losses += one.standing == Standing::loss ? 1 : 0;
    summary.alone += one.standing == Standing::alone ? 1 : 0;
    summary.different += one.standing == Standing::differs ? 1 : 0;
    if (!one.ratio || !one.comparable) continue;
    if (ratios.empty() || one.ratio->point < summary.slowest_ratio) {
      summary.slowest_ratio = one.ratio->point;
      summary.slowest_case = one.case_name;
    }
    ratios.push_back(one.ratio->point);
  }
  if (const auto mean = stats::geometric_mean_interval(ratios)) summary.geomean = *mean;
  if (!summary.geomean && ratios.size() == 1)
    summary.geomean = stats::Estimate{ratios[0], ratios[0], ratios[0], 0.95};
  for (const measure::Row& row : rows)
    if (row.library == library && !counts(row)) summary.failed.push_back(row.case_name);
  summary.versus = list;
  return summary;
}

}  // namespace sluice::analysis
