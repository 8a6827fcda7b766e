// tests/image/schedule_test.cpp - which packets are decoded for which frames.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/video_module/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace sluice::video_module::schedule_test {
namespace {

/// "K0 3 1 2" is a key frame shown at 0 and three more packets; "d" marks one that is not shown,
/// "?" one without a time.
std::vector<PacketFacts> packets(const std::string& text) {
  std::vector<PacketFacts> list;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    PacketFacts facts;
    facts.has_pts = true;
    for (const char c : text.substr(at, end - at)) {
      if (c == 'K') facts.key = true;
      if (c == 'd') facts.discard = true;
      if (c == '?') facts.has_pts = false;
      if (c >= '0' && c <= '9') facts.pts = facts.pts * 10 + (c - '0');
    }
    list.push_back(facts);
    at = end + 1;
  }
  return list;
}

/// '-' skipped, 'r' reference, 'T' target, each after '|' where decoding restarts.
std::string actions(const std::string& text, std::vector<std::int64_t> indices) {
  const auto list = packets(text);
  const auto schedule = make_schedule(list, indices);
  if (!schedule) return "none";
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (schedule->restart[i]) out += '|';
    out += std::array{'-', 'r', 'T'}[static_cast<std::size_t>(schedule->actions[i])];
  }
  return out;
}

TEST(ScheduleTest, FramesAreNumberedByTheTimeTheyAreShown) {
  EXPECT_EQ(actions("K0 3 1 2", {0, 1}), "TrTr");
  EXPECT_EQ(actions("K0 30 10 20", {3}), "rTrr");
}

TEST(ScheduleTest, GroupsWithoutAWantedFrameAreSkipped) {
  EXPECT_EQ(actions("K0 1 K2 3 K4 5", {0, 4}), "Tr--|Tr");
  EXPECT_EQ(actions("K0 1 K2 3 K4 5", {3}), "--|rT--");
  EXPECT_EQ(actions("K0 1 K2 3 K4 5", {1, 2, 5}), "rTTrrT");
}

TEST(ScheduleTest, FramesShownBeforeTheirKeyFrameNeedTheGroupBefore) {
  EXPECT_EQ(actions("K0 1 K4 2 3 5", {2}), "rrrTrr");
  // Not wanted, and what they refer to was skipped: they are skipped too.
  EXPECT_EQ(actions("K0 1 K4 2 3 5", {4}), "--|T--r");
}

TEST(ScheduleTest, PastTheEndIsTheLastFrame) {
  EXPECT_EQ(actions("K0 1 K2 3", {9}), "--|rT");
  const auto schedule = make_schedule(packets("K0 2 1"), std::array<std::int64_t, 3>{0, 5, 9});
  ASSERT_TRUE(schedule);
  EXPECT_THAT(schedule->wanted_pts, ::testing::ElementsAre(0, 2, 2));
}

TEST(ScheduleTest, FramesThatAreNotShownAreNotNumbered) {
  EXPECT_EQ(actions("K0d 1d 2 3", {0, 1}), "rrTT");
}

TEST(ScheduleTest, WithoutTrustworthyTimesThereIsNoSchedule) {
  EXPECT_EQ(actions("K0 1? 2", {0}), "none");
  EXPECT_EQ(actions("K0 1 1", {0}), "none");
  EXPECT_EQ(actions("0 K1 2", {0}), "none");
  EXPECT_EQ(actions("K0d", {0}), "none");
  EXPECT_FALSE(make_schedule({}, std::array<std::int64_t, 1>{0}));
}

}  // namespace
}  // namespace sluice::video_module::schedule_test
