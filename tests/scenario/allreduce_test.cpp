// tests/scenario/allreduce_test.cpp - what `bench allreduce` adds up, how often, and what it finds
// wrong.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/allreduce/room.h"
#include "sluice/scenario/allreduce/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/train/thread_world.h"
#include <array>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

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
    const auto sums = host_sums(rank, "threads");
    EXPECT_TRUE(add_up_known(*sums, values, rank.rank()));
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
    const auto times = time_sums(*host_sums(rank, "threads"), values, 2, 5, clock);
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

/// What a device is asked to do; as one that adds up numbers of its own, not those it took.
class ScriptedSums final : public RankSums {
 public:
  [[nodiscard]] std::string library() const override { return "NCCL 2.30.3"; }
  Status take(std::span<float> values) override {
    values_ = values;
    said.push_back("take " + std::to_string(values.size()));
    return ok;
  }
  Status add_up(int times) override {
    said.push_back("add up " + std::to_string(times));
    if (static_cast<int>(said.size()) == fails_at) return Error{Errc::measurement, "rank 1 of 2"};
    return ok;
  }
  Status give_back() override {
    values_.back() += 1;
    said.emplace_back("give back");
    return ok;
  }

  std::vector<std::string> said;
  int fails_at = 0;  // of what is said

 private:
  std::span<float> values_;
};

TEST(AllreduceSums, ADeviceAddsUpInGroupsAndGivesBackWhatIsCompared) {
  ScriptedSums sums;
  ScriptedClock clock({100, 5000});
  std::vector<float> values(8, 3.0F);
  const auto times = time_sums(sums, values, 2, 5, clock);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->elapsed_ns, 5000);
  EXPECT_THAT(sums.said, ElementsAre("take 8", "add up 2", "add up 5"));
  sums.said.clear();
  EXPECT_TRUE(add_up_known(sums, values, 1));
  EXPECT_THAT(sums.said, ElementsAre("take 8", "add up 1", "give back"));
  EXPECT_FALSE(check_sum(values, 1));
}

TEST(AllreduceSums, AnErrorEndsThemBeforeTheClockIsRead) {
  ScriptedSums sums;
  sums.fails_at = 2;
  ScriptedClock clock({100, 5000});
  std::vector<float> values(8);
  const auto times = time_sums(sums, values, 2, 5, clock);
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().message, "rank 1 of 2");
  EXPECT_EQ(clock.now_ns(), 100);
}

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

TEST(AllreduceRoomTest, RanksShareTheirMachineAndTheGpusThere) {
  const auto room = [](const char* machine, const char* device) {
    return RankRoom{machine, {{"", 1, 0, 64 * kGiB}, {device, 1, kGiB, 12 * kGiB}}};
  };
  const std::vector<RankRoom> own{room("a", "cuda:0"), room("a", "cuda:1"), room("b", "cuda:0")};
  EXPECT_FALSE(find_crowd(own, 11 * kGiB));
  auto crowd = find_crowd(own, 12 * kGiB);
  ASSERT_TRUE(crowd);
  EXPECT_EQ(crowd->device, "cuda:0");
  EXPECT_EQ(crowd->ranks, 1);
  EXPECT_EQ(crowd->wanted, 13 * kGiB);
  EXPECT_EQ(crowd->fitting, 11 * kGiB);
  crowd = find_crowd({room("b", "cuda:1"), room("a", "cuda:0"), room("a", "cuda:0")}, 6 * kGiB);
  ASSERT_TRUE(crowd);
  EXPECT_EQ(crowd->rank, 1U);
  EXPECT_EQ(crowd->ranks, 2);
  EXPECT_EQ(crowd->free, 12 * kGiB);
  EXPECT_EQ(crowd->fitting, 5 * kGiB);
}

TEST(AllreduceRoomTest, OfTheHostsMemoryMpiTakesAsMuchAgain) {
  const auto room = room_of_rank("cpu", 0);
  ASSERT_TRUE(room);
  ASSERT_EQ(room->memory.size(), 1U);
  EXPECT_EQ(room->memory[0].copies, 2);
  const RankRoom read = read_room(to_json(*room));
  EXPECT_EQ(to_json(read), to_json(*room));
  const RankRoom known{"a", {{"", 2, 0, 8 * kGiB}}};
  EXPECT_FALSE(find_crowd({known, known}, 2 * kGiB));
  EXPECT_EQ(find_crowd({known, known}, 3 * kGiB)->fitting, 2 * kGiB);
  const RankRoom unknown{"a", {{"", 2, 0, 0}}};
  EXPECT_FALSE(find_crowd({unknown}, 1024 * kGiB));
}

TEST(AllreduceSpecTest, IsReadAsItWasWrittenAndRefusesNonsense) {
  AllreduceSpec spec;
  spec.world_size = 4;
  spec.device = "cuda:2";
  spec.bytes = {8, 1024};
  spec.sums = 3;
  spec.rank_timeout_s = 7;
  const auto read = read_allreduce_spec(to_json(spec));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(spec));
  for (const char* bad :
       {R"({"world_size": 1, "bytes": [8]})", R"({"world_size": 2, "bytes": []})",
        R"({"world_size": 2, "bytes": [2]})", R"({"world_size": 2, "bytes": ["8"]})",
        R"({"world_size": 2})", R"({"world_size": 2, "bytes": [8], "device": "tpu:0"})", "[]"})
    EXPECT_FALSE(read_allreduce_spec(Json::parse(bad))) << bad;
}

}  // namespace
}  // namespace sluice::scenario::allreduce_test
