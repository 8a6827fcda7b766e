// sluice/scenario/allreduce/sums.cpp - numbers whose sum is known, and the loop that is timed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/allreduce/sums.h"

#include "sluice/measure/usage.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::scenario {
namespace {

constexpr std::int64_t kBytesTogether = std::int64_t{64} << 20;
constexpr std::int64_t kFewestSums = 2, kMostSums = 100;
/// A prime: pieces that come out shifted are found.
constexpr std::size_t kPeriod = 1021;

}  // namespace

int sums_of(std::int64_t bytes, int asked) {
  if (asked > 0) return asked;
  return static_cast<int>(std::clamp(kBytesTogether / bytes, kFewestSums, kMostSums));
}

int warmup_of(int sums) {
  return std::max(1, sums / 10);
}

void fill_for_sum(std::span<float> values, int rank) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % kPeriod + static_cast<std::size_t>(rank));
}

Status add_up_known(RankSums& sums, std::span<float> values, int rank) {
  fill_for_sum(values, rank);
  SLUICE_CHECK(sums.take(values));
  SLUICE_CHECK(sums.add_up(1));
  return sums.give_back();
}

Status check_sum(std::span<const float> values, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  const std::size_t of_ranks = count * (count - 1) / 2;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto meant = static_cast<float>(i % kPeriod * count + of_ranks);
    if (values[i] != meant)
      return Error{Errc::measurement,
                   fmt::format("the sum of {} numbers over {} ranks is wrong: number {} is {}, {} "
                               "is right",
                               values.size(), ranks, i, values[i], meant)};
  }
  return ok;
}

Result<SumTimes> time_sums(RankSums& ranks, std::span<float> values, int warmup, int sums,
                           Clock& clock) {
  std::fill(values.begin(), values.end(), 0.0F);  // stays so, however often it is added up
  SLUICE_CHECK(ranks.take(values));
  SLUICE_CHECK(ranks.add_up(warmup));
  const measure::Usage before = measure::usage_now();
  const std::int64_t start_ns = clock.now_ns();
  SLUICE_CHECK(ranks.add_up(sums));
  const std::int64_t elapsed_ns = clock.now_ns() - start_ns;
  return SumTimes{elapsed_ns, (measure::usage_now() - before).cpu_ns};
}

std::vector<std::int64_t> size_ladder(std::int64_t low, std::int64_t high, int factor) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = low; size <= high; size *= factor) {
    const std::int64_t whole = std::max(kFloat, size / kFloat * kFloat);
    if (sizes.empty() || sizes.back() != whole) sizes.push_back(whole);
    if (size > high / factor) break;
  }
  return sizes;
}

}  // namespace sluice::scenario
