// sluice/analysis/world/peer_scaling.cpp - rows of one library, with and without other ranks.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/world/peer_scaling.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/analysis/training_use.h"
#include "sluice/stats/summary.h"

#include <string>

namespace sluice::analysis {
namespace {

using measure::Row;

constexpr const char* kRanks = "world_size";

const Row* alone_beside(const std::vector<Row>& rows, const Row& together) {
  auto params = together.params;
  params.erase(kRanks);
  for (const Row& row : rows)
    if (row.library == together.library && row.params == params) return &row;
  return nullptr;
}

}  // namespace

std::vector<results::PeerScaling> peer_scaling(const std::vector<Row>& rows) {
  std::vector<results::PeerScaling> lines;
  for (const Row& row : rows) {
    const auto ranks = row.params.find(kRanks);
    if (row.library == "sluice" || ranks == row.params.end()) continue;
    const Row* alone = alone_beside(rows, row);
    if (alone == nullptr || row.status != measure::RowStatus::ok ||
        alone->status != measure::RowStatus::ok)
      continue;
    const auto use = training_use(row);
    const auto reference = training_use(*alone);
    if (!use || !reference) continue;
    results::PeerScaling& line = lines.emplace_back();
    line.library = row.library;
    line.world_size = std::stoll(ranks->second);
    line.samples_per_s = static_cast<double>(row.items_per_sample) / *stats::median(use->step_s);
    line.alone_samples_per_s =
        static_cast<double>(alone->items_per_sample) / *stats::median(reference->step_s);
    const auto count = static_cast<double>(line.world_size);
    line.efficiency = line.samples_per_s / (count * line.alone_samples_per_s);
    if (auto ratio = row_ratio(row, *alone, true)) {
      ratio->point /= count;
      ratio->low /= count;
      ratio->high /= count;
      line.efficiency_of_runs = *ratio;
    }
  }
  return lines;
}

}  // namespace sluice::analysis
