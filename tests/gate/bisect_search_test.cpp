// tests/gate/bisect_search_test.cpp - the search for the guilty commit on scripted speeds: what is
// asked, what is named, what it risks.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/bisect/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace sluice::gate::bisect_search_test {
namespace {

/// `n` log ratios around `centre`, with a small and even spread.
std::vector<double> around(double centre, double sd, int n) {
  static constexpr double kSteps[] = {1.2, -0.7, 0.4, -1.3, 0.9, -0.2, -1.1, 0.8};
  std::vector<double> ratios;
  for (int i = 0; i < n; ++i)
    ratios.push_back(centre + sd * kSteps[i % 8]);
  return ratios;
}

struct History {
  std::size_t commits = 16;
  std::size_t guilty = 5;                 // slower from here on
  double loss = 0.05;                     // as a log ratio
  std::set<std::size_t> broken{};         // do not build
  std::set<std::size_t> on_the_border{};  // half as slow: nobody can tell
  double sd = 0.002;
};

BisectState search(const History& history, const BisectOptions& options = {}) {
  auto state = begin_bisect(history.commits, options);
  EXPECT_TRUE(state) << state.error().message;
  while (const BisectProbe* asked = state->asked()) {
    const std::size_t at = asked->revision;
    if (history.broken.count(at) > 0) {
      EXPECT_TRUE(pass_over(*state, "does not build"));
      continue;
    }
    double centre = at >= history.guilty ? -history.loss : 0;
    if (history.on_the_border.count(at) > 0) centre = -history.loss / 2;
    const auto told = answer(*state, around(centre, history.sd, state->wanted_pairs()));
    EXPECT_TRUE(told) << told.error().message;
  }
  return *state;
}

std::set<std::size_t> stretch(std::size_t first, std::size_t last) {
  std::set<std::size_t> all;
  for (std::size_t i = first; i <= last; ++i)
    all.insert(i);
  return all;
}

struct Case {
  const char* name;
  History history;
  BisectEnd end;
  std::size_t good, bad;  // the bounds named
};

TEST(BisectSearch, NamesTheGuiltyOrTheRangeThatIsLeft) {
  const Case cases[] = {
      {"in the middle", {.guilty = 8}, BisectEnd::found, 7, 8},
      {"the first", {.guilty = 1}, BisectEnd::found, 0, 1},
      {"the last: BAD itself", {.guilty = 16}, BisectEnd::found, 15, 16},
      {"a history of one commit", {.commits = 1, .guilty = 1}, BisectEnd::found, 0, 1},
      {"of three", {.commits = 3, .guilty = 2}, BisectEnd::found, 1, 2},
      {"the middle does not build", {.guilty = 5, .broken = {8}}, BisectEnd::found, 4, 5},
      {"the guilty one does not build", {.guilty = 5, .broken = {5}}, BisectEnd::range, 4, 6},
      {"the one before does not build", {.guilty = 5, .broken = {4}}, BisectEnd::range, 3, 5},
      {"a broken stretch", {.guilty = 7, .broken = stretch(4, 12)}, BisectEnd::range, 3, 13},
      {"nothing builds", {.guilty = 7, .broken = stretch(1, 15)}, BisectEnd::range, 0, 16},
      {"one cannot be told", {.guilty = 5, .on_the_border = {4}}, BisectEnd::range, 3, 5},
      {"no loss", {.loss = 0}, BisectEnd::not_slower, 0, 16},
      {"a loss below tau", {.loss = 0.015}, BisectEnd::not_slower, 0, 16},
      {"faster", {.loss = -0.05}, BisectEnd::not_slower, 0, 16},
      {"too much noise", {.loss = 0.04, .sd = 0.5}, BisectEnd::not_shown, 0, 16},
  };
  for (const Case& one : cases) {
    const BisectState state = search(one.history);
    EXPECT_EQ(to_string(state.end), std::string(to_string(one.end))) << one.name;
    EXPECT_EQ(state.good, one.good) << one.name;
    EXPECT_EQ(state.bad, one.bad) << one.name;
    EXPECT_LE(state.spent, state.options.alpha + 1e-12) << one.name;
  }
}

TEST(BisectSearch, EveryGuiltyCommitOf64IsFoundInSevenProbes) {
  for (std::size_t guilty = 1; guilty <= 64; ++guilty) {
    const BisectState state = search({.commits = 64, .guilty = guilty});
    EXPECT_EQ(state.end, BisectEnd::found);
    EXPECT_EQ(state.bad, guilty);
    EXPECT_EQ(state.probes.size(), 7U);
    EXPECT_NEAR(state.spent, state.options.alpha, 1e-12) << "each step a seventh";
    for (const BisectProbe& probe : state.probes)
      EXPECT_NEAR(probe.level, state.options.alpha / 7, 1e-12);
  }
}

TEST(BisectSearch, ABrokenStretchInTheMiddleIsLeftQuickly) {
  const BisectState state = search({.commits = 64, .guilty = 10, .broken = stretch(24, 40)});
  EXPECT_EQ(state.end, BisectEnd::found);
  EXPECT_EQ(state.bad, 10U);
  EXPECT_EQ(state.probes[1].verdict, ProbeVerdict::skipped);
  EXPECT_EQ(state.probes[2].revision, 16U) << "a quarter of the way, not the neighbour";
  EXPECT_LE(state.probes.size(), 9U);
}

TEST(BisectSearch, AsksForMorePairsWhereItIsLeftOpen) {
  auto state = begin_bisect(4, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(state->asked()->revision, 4U);
  EXPECT_EQ(state->wanted_pairs(), 12);
  ASSERT_TRUE(answer(*state, around(-0.05, 0.06, 12)));
  EXPECT_EQ(state->asked()->revision, 4U) << "the same again";
  EXPECT_EQ(state->wanted_pairs(), 24);
  ASSERT_TRUE(answer(*state, around(-0.05, 0.002, 24)));
  EXPECT_EQ(state->asked()->revision, 2U);
  EXPECT_NEAR(state->border, -0.025, 1e-3) << "half of the loss";
  EXPECT_FALSE(answer(*state, around(0, 0.002, 13))) << "12 are wanted";
}

TEST(BisectSearch, TheBorderIsProvedToLieAboveTheLoss) {
  // With so few pairs half of the estimated loss is not proved; what is, is taken.
  BisectOptions options;
  options.looks = single_look(12);
  auto state = begin_bisect(4, options);
  ASSERT_TRUE(state);
  ASSERT_TRUE(answer(*state, around(-0.05, 0.040, 12)));
  ASSERT_EQ(state->probes[0].verdict, ProbeVerdict::bad);
  EXPECT_GT(state->probes[0].high, state->probes[0].estimate / 2);
  EXPECT_EQ(state->border, state->probes[0].high);
}

TEST(BisectSearch, AnUndecidedRevisionSpendsItsShare) {
  const BisectState state = search({.guilty = 5, .on_the_border = {8}});
  EXPECT_EQ(state.probes[1].verdict, ProbeVerdict::undecided);
  EXPECT_EQ(state.probes[1].pairs, kBisectMostPairs);
  EXPECT_EQ(state.end, BisectEnd::found);
  EXPECT_EQ(state.bad, 5U);
  EXPECT_LE(state.spent, state.options.alpha + 1e-12);
}

TEST(BisectSearch, NextRevision) {
  struct {
    std::size_t good, bad;
    std::vector<std::size_t> passed_over;
    std::size_t next;  // 0: none
  } const cases[] = {
      {0, 64, {}, 32}, {0, 64, {32}, 16},    {0, 64, {32, 16}, 48}, {0, 64, {32, 16, 48}, 8},
      {0, 1, {}, 0},   {0, 2, {}, 1},        {0, 2, {1}, 0},        {3, 6, {}, 4},
      {3, 6, {4}, 5},  {3, 6, {4, 5, 9}, 0}, {10, 20, {4, 30}, 15},
  };
  for (const auto& one : cases)
    EXPECT_EQ(next_revision(one.good, one.bad, one.passed_over).value_or(0), one.next)
        << one.good << " to " << one.bad;
  EXPECT_EQ(halvings(1), 0);
  EXPECT_EQ(halvings(2), 1);
  EXPECT_EQ(halvings(64), 6);
  EXPECT_EQ(halvings(65), 7);
}

TEST(BisectSearch, LooksAndBadOptions) {
  const auto looks = bisect_looks(192);
  ASSERT_EQ(looks.size(), 5U);
  EXPECT_EQ(looks.front().pairs, 12);
  EXPECT_EQ(looks.back().pairs, 192);
  EXPECT_EQ(bisect_looks(12).size(), 1U);
  EXPECT_EQ(bisect_looks(30).back().pairs, 30);
  EXPECT_FALSE(begin_bisect(0, {}));
  EXPECT_FALSE(begin_bisect(3, {.alpha = 0.5}));
  EXPECT_FALSE(begin_bisect(3, {.tau = 0}));
  auto state = begin_bisect(3, {});
  ASSERT_TRUE(state);
  EXPECT_FALSE(pass_over(*state, "BAD cannot be passed over"));
}

}  // namespace
}  // namespace sluice::gate::bisect_search_test
