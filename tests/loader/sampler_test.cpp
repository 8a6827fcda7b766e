// tests/loader/sampler_test.cpp - orders are permutations, ranks share them out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace sluice::loader::sampler_test {
namespace {

std::vector<std::uint64_t> order_of(std::uint64_t size, const std::vector<std::uint64_t>& starts,
                                    const OrderOptions& options, std::uint64_t epoch) {
  const EpochOrder order(size, starts, options, epoch);
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < size; ++i)
    all.push_back(order[i]);
  return all;
}

bool is_permutation_of_all(std::vector<std::uint64_t> order) {
  std::sort(order.begin(), order.end());
  for (std::uint64_t i = 0; i < order.size(); ++i)
    if (order[i] != i) return false;
  return true;
}

TEST(Permutation, IsOneAndHasAnInverse) {
  for (const std::uint64_t size : {1U, 2U, 3U, 5U, 16U, 17U, 255U, 1000U, 65537U}) {
    const Permutation permutation(size, {.seed = 3, .epoch = size});
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 0; i < size; ++i) {
      all.push_back(permutation(i));
      ASSERT_EQ(permutation.inverse(all.back()), i) << size;
    }
    EXPECT_TRUE(is_permutation_of_all(all)) << size;
  }
}

TEST(Permutation, HoldsForHugeSizes) {
  const std::uint64_t size = (std::uint64_t{1} << 40) + 12345;
  const Permutation permutation(size, {.seed = 9});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t there = permutation(i * 1'000'003);
    ASSERT_LT(there, size);
    ASSERT_EQ(permutation.inverse(there), i * 1'000'003);
  }
}

// Every place should get every value equally often over many keys: chi-square with (n-1)^2 degrees
// of freedom, at six standard deviations.
TEST(Permutation, EveryPlaceGetsEveryValueAlike) {
  for (const std::uint64_t size : {4U, 7U, 24U}) {
    constexpr int kKeys = 20'000;
    std::vector<double> seen(size * size);
    for (int key = 0; key < kKeys; ++key) {
      const Permutation permutation(size, {.seed = 1, .epoch = static_cast<std::uint64_t>(key)});
      for (std::uint64_t i = 0; i < size; ++i)
        ++seen[i * size + permutation(i)];
    }
    const double expected = kKeys / static_cast<double>(size);
    double chi = 0;
    for (const double n : seen)
      chi += (n - expected) * (n - expected) / expected;
    const double freedom = static_cast<double>((size - 1) * (size - 1));
    EXPECT_LT(chi, freedom + 6 * std::sqrt(2 * freedom)) << size;
  }
}

// Stored positions depend on it: these numbers must never change.
TEST(Permutation, IsFrozen) {
  const Permutation permutation(10, {.seed = 42, .epoch = 7, .stage = 1});
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < 10; ++i)
    all.push_back(permutation(i));
  EXPECT_EQ(all, (std::vector<std::uint64_t>{9, 2, 5, 6, 8, 1, 4, 7, 0, 3}));
}

TEST(EpochOrder, EveryShuffleIsAPermutation) {
  const std::vector<std::uint64_t> starts{0, 10, 11, 40, 97};
  for (const Shuffle shuffle : {Shuffle::none, Shuffle::full, Shuffle::windowed, Shuffle::shards})
    for (const std::uint64_t size : {98U, 100U, 128U})
      for (const std::uint64_t window : {1U, 7U, 16U, 64U, 1000U}) {
        const auto order = order_of(size, starts, {shuffle, window, 5}, 3);
        EXPECT_TRUE(is_permutation_of_all(order))
            << to_string(shuffle) << " " << size << " " << window;
      }
}

TEST(EpochOrder, FollowsFromSeedAndEpoch) {
  const std::vector<std::uint64_t> starts{0, 300};
  for (const Shuffle shuffle : {Shuffle::full, Shuffle::windowed, Shuffle::shards}) {
    const auto order = order_of(1000, starts, {shuffle, 50, 5}, 3);
    EXPECT_EQ(order, order_of(1000, starts, {shuffle, 50, 5}, 3));
    EXPECT_NE(order, order_of(1000, starts, {shuffle, 50, 5}, 4));
    EXPECT_NE(order, order_of(1000, starts, {shuffle, 50, 6}, 3));
  }
}

TEST(EpochOrder, WindowsStayTogether) {
  const auto order = order_of(95, {}, {Shuffle::windowed, 10, 1}, 0);
  std::size_t at = 0;
  std::vector<std::uint64_t> windows;
  while (at < order.size()) {
    const std::uint64_t window = order[at] / 10;
    windows.push_back(window);
    const std::size_t end = at + (window == 9 ? 5 : 10);
    for (; at < end; ++at)
      ASSERT_EQ(order[at] / 10, window) << at;
  }
  EXPECT_TRUE(is_permutation_of_all(windows));
}

TEST(EpochOrder, ShardsComeOneAfterAnother) {
  const std::vector<std::uint64_t> starts{0, 40, 60, 100};
  const auto order = order_of(120, starts, {Shuffle::shards, 1, 1}, 0);  // window 1: no mixing
  std::vector<std::uint64_t> shards;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto shard = static_cast<std::uint64_t>(
        std::upper_bound(starts.begin(), starts.end(), order[i]) - starts.begin() - 1);
    if (shards.empty() || shards.back() != shard) shards.push_back(shard);
  }
  EXPECT_EQ(shards.size(), 4U);
  EXPECT_TRUE(is_permutation_of_all(shards));
}

TEST(EpochOrder, ShardWindowsTouchFewShards) {
  std::vector<std::uint64_t> starts;
  for (std::uint64_t i = 0; i < 100; ++i)
    starts.push_back(i * 100);
  const auto order = order_of(10'000, starts, {Shuffle::shards, 200, 1}, 0);
  for (std::size_t window = 0; window < order.size(); window += 200) {
    std::vector<std::uint64_t> shards;
    for (std::size_t i = window; i < window + 200; ++i)
      shards.push_back(order[i] / 100);
    std::sort(shards.begin(), shards.end());
    shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
    EXPECT_LE(shards.size(), 3U);
  }
}

TEST(BatchPlan, RanksPartitionEveryStep) {
  for (const bool drop_last : {true, false})
    for (const std::uint64_t size : {1U, 5U, 63U, 64U, 100U})
      for (const std::uint32_t ranks : {1U, 2U, 3U, 8U}) {
        std::vector<std::uint64_t> taken;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          const BatchPlan plan(size, {8, rank, ranks, drop_last});
          for (std::uint64_t s = 0; s < plan.steps(); ++s) {
            const BatchPlan::Range range = plan.step(s);
            ASSERT_GT(range.count, 0U);
            for (std::uint32_t i = 0; i < range.count; ++i)
              taken.push_back(range.first + i);
          }
        }
        EXPECT_EQ(taken.size(), drop_last ? size / (8 * ranks) * 8 * ranks : size);
        EXPECT_TRUE(is_permutation_of_all(taken)) << size << " " << ranks << " " << drop_last;
      }
}

TEST(BatchPlan, ARestoredPlanTakesTheRest) {
  const BatchPlan plan(100, {8, 1, 2, false}, 40);
  EXPECT_EQ(plan.steps(), 4U);
  EXPECT_EQ(plan.step(0).first, 48U);
  EXPECT_EQ(plan.consumed_after(0), 56U);
  EXPECT_EQ(plan.step(3).first, 94U);  // 88 to 99 are left: six each
  EXPECT_EQ(plan.step(3).count, 6U);
  EXPECT_EQ(plan.consumed_after(3), 100U);
  EXPECT_EQ(BatchPlan(100, {8, 1, 2, false}, 100).steps(), 0U);
}

TEST(ShuffleNames, AreParsed) {
  EXPECT_EQ(parse_shuffle("windowed").value(), Shuffle::windowed);
  const auto bad = parse_shuffle("wild");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "shuffle `wild` is unknown; accepted: none, full, windowed, shards");
}

}  // namespace
}  // namespace sluice::loader::sampler_test
