// sluice/scenario/allreduce/sums.h - all-reduce alone: what is added up, how often, and whether the
// sum is right.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/scenario/allreduce/rank_sums.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::scenario {

/// Sums of one size that are timed together: `asked`, or without it (0) about 64 MiB of them, 2 to
/// 100. The same on every machine, so that runs can be compared.
int sums_of(std::int64_t bytes, int asked);
/// Untimed ones before them: a tenth, at least one. The last of them lets all ranks start together.
int warmup_of(int sums);

/// Whole numbers that tell rank and place; their sum over up to 1024 ranks is exact in any order.
void fill_for_sum(std::span<float> values, int rank);
/// Such numbers of this rank, replaced by their sum over all.
Status add_up_known(RankSums& sums, std::span<float> values, int rank);
/// That sum, everywhere. The error names the first place that is wrong.
Status check_sum(std::span<const float> values, int ranks);

struct SumTimes {
  std::int64_t elapsed_ns = 0;
  std::int64_t cpu_ns = 0;  // of this process
};
/// Every rank at the same time; the clock is read twice, when nothing is under way. One sum follows
/// the other, as those of nccl-tests do on their stream.
Result<SumTimes> time_sums(RankSums& ranks, std::span<float> values, int warmup, int sums,
                           Clock& clock);

/// `low`, `low` * factor, ... up to `high`; multiples of a float.
std::vector<std::int64_t> size_ladder(std::int64_t low, std::int64_t high, int factor);

}  // namespace sluice::scenario
