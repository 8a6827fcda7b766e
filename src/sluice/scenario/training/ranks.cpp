// sluice/scenario/training/ranks.cpp - sums over ranks that count exactly.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/ranks.h"

#include "sluice/core/sha256.h"
#include "sluice/train/world/gather.h"

#include <array>
#include <cstdlib>
#include <string>

namespace sluice::scenario {

Result<bool> Ranks::any(bool mine) const {
  if (size() == 1) return mine;
  float count = mine ? 1.0F : 0.0F;
  SLUICE_CHECK(world_->start_sum({&count, 1}));
  SLUICE_CHECK(world_->finish());
  return count > 0;
}

Result<EpochSums> Ranks::total(const EpochSums& mine) const {
  EpochSums all = mine;
  if (size() == 1) return all;
  const std::array<double, 4> counts{
      static_cast<double>(mine.samples), static_cast<double>(mine.judged),
      static_cast<double>(mine.correct), static_cast<double>(mine.wait_ns)};
  SLUICE_TRY(const std::vector<double> sums, train::sum_exactly(*world_, counts));
  all.samples = static_cast<std::uint64_t>(sums[0]);
  all.judged = static_cast<std::uint64_t>(sums[1]);
  all.correct = static_cast<std::uint64_t>(sums[2]);
  all.wait_ns = static_cast<std::int64_t>(sums[3]) / size();
  return all;
}

Result<Accuracy> Ranks::total(const Accuracy& mine, bool interrupted) const {
  Accuracy all = mine;
  if (size() > 1) {
    const std::array<double, 4> counts{static_cast<double>(mine.samples),
                                       static_cast<double>(mine.correct), mine.loss_sum,
                                       interrupted ? 1.0 : 0.0};
    SLUICE_TRY(const std::vector<double> sums, train::sum_exactly(*world_, counts));
    all = {static_cast<std::uint64_t>(sums[0]), static_cast<std::uint64_t>(sums[1]), sums[2]};
    interrupted = sums[3] > 0;
  }
  if (interrupted) return Error{Errc::interrupted, "interrupted"};
  return all;
}

Result<int> Ranks::first_other(std::string_view text) const {
  if (size() == 1) return 0;
  const std::string digest = sha256_hex(text).substr(0, 12);  // 48 bits: a double holds them
  const std::array<double, 1> mine{static_cast<double>(std::strtoull(digest.c_str(), nullptr, 16))};
  SLUICE_TRY(const std::vector<double> all, train::gather(*world_, mine));
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all.front()) return static_cast<int>(rank);
  return 0;
}

}  // namespace sluice::scenario
