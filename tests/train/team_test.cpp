// tests/train/team_test.cpp - every member runs every piece of work once; parts cover the whole.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace sluice::train::cpu::team_test {
namespace {

TEST(Team, EachMemberRunsOnceInAThreadOfItsOwn) {
  for (const int threads : {1, 2, 3, 7}) {
    Team team(threads);
    ASSERT_EQ(team.size(), threads);
    std::vector<int> calls(static_cast<std::size_t>(threads));
    std::vector<std::thread::id> ids(static_cast<std::size_t>(threads));
    for (int round = 0; round < 3; ++round) {
      team.run([&](int member) {
        ++calls[static_cast<std::size_t>(member)];  // no atomic: the team orders it
        ids[static_cast<std::size_t>(member)] = std::this_thread::get_id();
      });
      EXPECT_EQ(calls, std::vector<int>(static_cast<std::size_t>(threads), round + 1));
    }
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), ids.size());
  }
}

TEST(Team, MembersSeeWhatTheLastPieceWrote) {
  Team team(4);
  std::vector<std::int64_t> sums(4);
  std::int64_t shared = 0;
  for (int round = 0; round < 2000; ++round) {
    shared = round;
    team.run([&](int member) { sums[static_cast<std::size_t>(member)] += shared; });
  }
  EXPECT_EQ(sums, std::vector<std::int64_t>(4, 2000 * 1999 / 2));
}

/// Many more members than cores, and two teams at once: all must still come to an end.
TEST(Team, MoreMembersThanCores) {
  const int many = 4 * static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::atomic<std::int64_t> calls{0};
  const auto work = [&] {
    Team team(many);
    for (int round = 0; round < 50; ++round)
      team.run([&](int) { calls.fetch_add(1, std::memory_order_relaxed); });
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(calls.load(), 2 * 50 * many);
}

/// Members that went to sleep must wake: the gap is longer than they spin.
TEST(Team, WorksAfterAPause) {
  Team team(2);
  std::vector<int> calls(2);
  for (int round = 0; round < 3; ++round) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < until) {
    }
    team.run([&](int member) { ++calls[static_cast<std::size_t>(member)]; });
  }
  EXPECT_EQ(calls, std::vector<int>(2, 3));
}

TEST(Team, DiesWithoutHavingWorked) {
  for (int i = 0; i < 20; ++i)
    const Team team(3);
}

TEST(Team, PartsCoverTheWholeInMultiplesOfTheGrain) {
  for (const int threads : {1, 2, 3, 5}) {
    const Team team(threads);
    for (const std::int64_t count : {0, 1, 7, 16, 33, 1608})
      for (const std::int64_t grain : {1, 8, 16, 100}) {
        std::int64_t at = 0, least = count, most = 0;
        for (int member = 0; member < threads; ++member) {
          const Rows rows = team.part(count, grain, member);
          EXPECT_EQ(rows.begin, at);
          EXPECT_GE(rows.count(), 0);
          EXPECT_TRUE(rows.begin % grain == 0 || rows.begin == count);
          at = rows.end;
          least = std::min(least, rows.count());
          most = std::max(most, rows.count());
        }
        EXPECT_EQ(at, count);
        EXPECT_LE(most - least, 2 * grain) << "fair: " << count << " in " << grain;
      }
  }
}

TEST(Team, SplitCallsNobodyForAnEmptyPart) {
  Team team(4);
  std::vector<int> touched(20);
  std::atomic<int> calls{0};
  team.split(20, 10, [&](Rows rows, int) {
    ++calls;
    for (std::int64_t i = rows.begin; i < rows.end; ++i)
      ++touched[static_cast<std::size_t>(i)];
  });
  EXPECT_EQ(calls.load(), 2);
  EXPECT_EQ(touched, std::vector<int>(20, 1));
}

}  // namespace
}  // namespace sluice::train::cpu::team_test
