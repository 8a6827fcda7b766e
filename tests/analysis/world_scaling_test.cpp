// tests/analysis/world_scaling_test.cpp - several ranks beside one, from made-up steps: rates,
// waits, and who is waited for.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/world_scaling.h"

#include "sluice/measure/summary.h"

#include <gtest/gtest.h>

namespace sluice::analysis::world_scaling_test {
namespace {

using List = std::vector<std::int64_t>;

/// Steps of 8 samples a rank in 50 ms each; alone in 40 ms.
measure::Row row_of(const std::vector<List>& waited_ms, const Json& hosts = Json::array()) {
  const auto ranks = static_cast<int>(waited_ms.size());
  measure::Row row;
  row.library = "sluice";
  row.items_per_sample = 8 * std::max(ranks, 1);
  measure::Run& run = row.runs.emplace_back();
  run.samples_ns.assign(4, ranks > 1 ? 50'000'000 : 40'000'000);
  Json lists = Json::array();
  for (const List& of_rank : waited_ms) {
    Json& list = lists.emplace_back(Json::array());
    for (const std::int64_t ms : of_rank)
      list.push_back(ms * 1'000'000);
  }
  const Json nanoseconds(4, 1'000'000);
  const Json world{{"size", ranks},
                   {"library", "a library"},
                   {"bytes", 1000},
                   {"exposed_ns", nanoseconds},
                   {"in_flight_ns", nanoseconds},
                   {"waited_ns", lists},
                   {"hosts", hosts}};
  run.details = Json::array({ranks > 1 ? Json{{"world", world}} : Json::object()});
  measure::summarise(row, 0.15);
  return row;
}

TEST(WorldScaling, RatesAreOfAllRanks) {
  const auto found = world_scaling(row_of({{1, 1, 1, 1}, {2, 2, 2, 2}}), row_of({}));
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->samples_per_s, 320);
  EXPECT_DOUBLE_EQ(*found->steps_per_s, 20);
  EXPECT_DOUBLE_EQ(found->efficiency, 0.8);
  EXPECT_FALSE(found->mfu_p50.value);  // the model says what a step is worth
}

TEST(WorldScaling, TheSlowestIsWaitedForBeyondWhatItWaitsItself) {
  const auto found = world_scaling(
      row_of({{5, 7, 5, 5}, {1, 1, 9, 1}, {5, 5, 5, 5}}, Json{"aaaaaaaa", "bbbbbbbb", nullptr}),
      row_of({}));
  ASSERT_TRUE(found && found->slowest);
  EXPECT_EQ(found->slowest->rank, 1);
  EXPECT_EQ(found->slowest->host, "bbbbbbbb");
  // By step 4 and 4, 6 and 4, in the third it waited longer itself, 4 and 4.
  EXPECT_DOUBLE_EQ(found->slowest->waited_for_p50_ms, 4);
  EXPECT_GT(found->slowest->waited_for_p99_ms, 5);
  EXPECT_LE(found->slowest->waited_for_p99_ms, 6);
  EXPECT_DOUBLE_EQ(found->slowest->last_share, 0.75);
  ASSERT_EQ(found->waits.size(), 3U);
  EXPECT_EQ(found->waits[0].host, "aaaaaaaa");
  EXPECT_FALSE(found->waits[2].host);
}

TEST(WorldScaling, WithoutEveryStepOfEveryRankNobodyIsSlowest) {
  const auto found = world_scaling(row_of({{5, 5, 5, 5}, {1, 1, 1}}), row_of({}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->waits.size(), 2U);
  EXPECT_FALSE(found->slowest);
  EXPECT_FALSE(found->waits[0].host);  // of a file from before they were told
}

}  // namespace
}  // namespace sluice::analysis::world_scaling_test
