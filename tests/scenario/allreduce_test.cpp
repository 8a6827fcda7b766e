// tests/scenario/allreduce_test.cpp - what `bench allreduce` adds up, how often, and what it finds
// wrong.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/allreduce/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/train/thread_world.h"
#include <array>
#include <atomic>
#include <numeric>

namespace sluice::scenario::allreduce_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AllreduceSums, SizesGrowByTheFactorUpToTheLargest) {
  EXPECT_THAT(size_ladder(8, 64, 2), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(size_ladder(8, 100, 4), ElementsAre(8, 32));
  EXPECT_THAT(size_ladder(6, 30, 2), ElementsAre(4, 12, 24));  // whole numbers of 4 bytes
  EXPECT_THAT(size_ladder(16, 16, 2), ElementsAre(16));
  EXPECT_EQ(size_ladder(8, std::int64_t{1} << 30, 2).size(), 28U);
}

TEST(AllreduceSums, SmallSizesAreTimedInLargerGroups) {
  EXPECT_EQ(sums_of(8, 0), 100);
  EXPECT_EQ(sums_of(std::int64_t{4} << 20, 0), 16);
  EXPECT_EQ(sums_of(std::int64_t{1} << 30, 0), 2);
  EXPECT_EQ(sums_of(8, 7), 7);
  EXPECT_EQ(warmup_of(100), 10);
  EXPECT_EQ(warmup_of(2), 1);
}

TEST(AllreduceSums, TheSumOfEveryRankIsExact) {
  std::atomic<int> right = 0;
  train::testing::in_world(3, [&](train::testing::ThreadRank& rank) {
    std::vector<float> values(5000);
    fill_for_sum(values, rank.rank());
    EXPECT_TRUE(rank.start_sum(values));
    EXPECT_TRUE(rank.finish());
    if (check_sum(values, 3)) ++right;
  });
  EXPECT_EQ(right, 3);
}

TEST(AllreduceSums, OneThatIsMissingTwiceThereOrShiftedIsFound) {
  const auto of_ranks = [](std::initializer_list<int> ranks) {
    std::vector<float> sum(4000), one(4000);
    for (const int rank : ranks) {
      fill_for_sum(one, rank);
      std::transform(sum.begin(), sum.end(), one.begin(), sum.begin(), std::plus<>());
    }
    return sum;
  };
  EXPECT_TRUE(check_sum(of_ranks({0, 1, 2}), 3));
  EXPECT_FALSE(check_sum(of_ranks({0, 2}), 3));
  EXPECT_FALSE(check_sum(of_ranks({0, 1, 1}), 3));
  std::vector<float> shifted = of_ranks({0, 1, 2});
  std::rotate(shifted.begin(), shifted.begin() + 1, shifted.end());
  EXPECT_FALSE(check_sum(shifted, 3));
  std::vector<float> last = of_ranks({0, 1, 2});
  last.back() += 1;
  const Status found = check_sum(last, 3);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("number 3999 is"));
}

TEST(AllreduceSums, TheClockCoversTheTimedSumsAlone) {
  std::array<int, 2> sums{};
  std::array<std::int64_t, 2> elapsed{};
  train::testing::in_world(2, [&](train::testing::ThreadRank& rank) {
    ScriptedClock clock({100, 5000, 7});  // read before and after, and not once more
    std::vector<float> values(8, 3.0F);
    const auto times = time_sums(rank, values, 2, 5, clock);
    const auto place = static_cast<std::size_t>(rank.rank());
    ASSERT_TRUE(times);
    elapsed[place] = times->elapsed_ns;
    sums[place] = rank.sums;
    EXPECT_EQ(clock.now_ns(), 5107);
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0.0F), 0.0F);
  });
  EXPECT_EQ(elapsed, (std::array<std::int64_t, 2>{5000, 5000}));
  EXPECT_EQ(sums, (std::array<int, 2>{7, 7}));
}

TEST(AllreduceSpecTest, IsReadAsItWasWrittenAndRefusesNonsense) {
  AllreduceSpec spec;
  spec.world_size = 4;
  spec.bytes = {8, 1024};
  spec.sums = 3;
  spec.rank_timeout_s = 7;
  const auto read = read_allreduce_spec(to_json(spec));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(spec));
  EXPECT_EQ(bytes_of_rank(spec), 2048);
  for (const char* bad : {R"({"world_size": 1, "bytes": [8]})", R"({"world_size": 2, "bytes": []})",
                          R"({"world_size": 2, "bytes": [2]})",
                          R"({"world_size": 2, "bytes": ["8"]})", R"({"world_size": 2})", "[]"})
    EXPECT_FALSE(read_allreduce_spec(Json::parse(bad))) << bad;
}

}  // namespace
}  // namespace sluice::scenario::allreduce_test
