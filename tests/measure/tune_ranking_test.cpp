// tests/measure/tune_ranking_test.cpp - one ranking out of scripted blocks: a clear winner, a tie,
// too little data, noise.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/tune_ranking.h"

#include "sluice/core/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace sluice::measure::tune_ranking_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Blocks in which every setting is measured once; each block has a drift of its own.
std::vector<TuneSample> blocks_of(const std::map<Setting, double>& rates, int blocks, double noise,
                                  std::uint64_t seed = 1) {
  std::vector<TuneSample> samples;
  Rng rng({.seed = seed});
  for (int block = 0; block < blocks; ++block)
    for (const auto& [setting, rate] : rates)
      samples.push_back(
          {setting, block, rate * (1 + 0.3 * std::sin(block)) * std::exp(noise * rng.normal())});
  return samples;
}

/// What must hold whatever the data: the table, the recommendation and the loss agree.
void expect_consistent(const TuneRanking& ranking, double worth = 0.02) {
  ASSERT_FALSE(ranking.order.empty());
  for (std::size_t i = 1; i < ranking.order.size(); ++i) {
    EXPECT_LE(ranking.order[i].rate, ranking.order[i - 1].rate);
    if (ranking.order[i].ratio) {
      EXPECT_NEAR(ranking.order[i].rate / ranking.order[0].rate, ranking.order[i].ratio->point,
                  1e-9);
    }
  }
  const bool first = ranking.recommended == ranking.order.front().setting;
  EXPECT_EQ(first, ranking.choice == TuneChoice::first);
  if (!ranking.loss) return;
  EXPECT_LE(ranking.loss->low, ranking.loss->point);
  EXPECT_LE(ranking.loss->point, ranking.loss->high);
  EXPECT_EQ(ranking.open.empty(), ranking.loss->high <= worth / (1 + worth));
  EXPECT_EQ(ranking.open.empty(), ranking.more_measurements == 0);
}

TEST(TuneRanking, AClearWinnerIsFirstAndRecommended) {
  const auto ranking =
      rank_settings(blocks_of({{{1, 2}, 100}, {{2, 2}, 190}, {{4, 2}, 150}}, 5, 0.01), {});
  expect_consistent(ranking);
  EXPECT_EQ(ranking.recommended, (Setting{2, 2}));
  EXPECT_EQ(ranking.choice, TuneChoice::first);
  EXPECT_THAT(ranking.open, IsEmpty());
  EXPECT_THAT(ranking.maybe_cheaper, IsEmpty());
  EXPECT_EQ(ranking.order[1].setting, (Setting{4, 2}));
  EXPECT_LT(ranking.order[1].ratio->high, 0.9);
  EXPECT_GT(ranking.order[1].ratio->high, 150.0 / 190 - 0.01);
  EXPECT_EQ(ranking.loss->high, 0);
  EXPECT_NEAR(*ranking.noise, 0.01, 0.006);
}

TEST(TuneRanking, OfATieTheCheapestIsRecommended) {
  int cheapest = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto ranking = rank_settings(
        blocks_of({{{1, 2}, 100}, {{2, 2}, 200}, {{4, 2}, 200}, {{8, 2}, 200}}, 12, 0.005, seed),
        {});
    expect_consistent(ranking);
    EXPECT_EQ(ranking.recommended, (Setting{2, 2})) << seed;
    EXPECT_THAT(ranking.open, IsEmpty());
    EXPECT_LE(ranking.loss->high, 0.02);
    cheapest += ranking.choice == TuneChoice::cheapest ? 1 : 0;
  }
  EXPECT_GT(cheapest, 3);  // it is first itself in about every third
}

// The case that a user met: two blocks, differences of a few percent, noise of ten.
TEST(TuneRanking, TooLittleDataIsSaidWithHowMuchIsMissing) {
  const std::map<Setting, double> rates{{{1, 2}, 190}, {{2, 2}, 200}, {{2, 4}, 205}, {{4, 2}, 200}};
  const auto ranking = rank_settings(blocks_of(rates, 2, 0.1), {});
  expect_consistent(ranking);
  EXPECT_THAT(ranking.open, ::testing::SizeIs(3));
  EXPECT_GT(ranking.loss->high, 0.02);
  EXPECT_GT(ranking.more_measurements, 100);  // 2 (2.3 * 0.1 / 0.02)^2 pairs and so on
  EXPECT_LT(ranking.more_measurements, 1e6);
}

TEST(TuneRanking, OneBlockHasNoNoiseAndSaysSo) {
  const auto ranking = rank_settings(blocks_of({{{1, 1}, 100}, {{2, 1}, 200}}, 1, 0.1), {});
  EXPECT_FALSE(ranking.noise);
  EXPECT_FALSE(ranking.loss);
  EXPECT_FALSE(ranking.order[1].ratio);
  EXPECT_EQ(ranking.recommended, ranking.order[0].setting);
  EXPECT_EQ(ranking.more_measurements, 6);  // a first look
}

TEST(TuneRanking, NoiseLeavesEverythingOpenAndAsksForMore) {
  const std::map<Setting, double> same{{{1, 1}, 100}, {{2, 1}, 100}, {{4, 1}, 100}};
  const auto noisy = rank_settings(blocks_of(same, 12, 0.3), {});
  expect_consistent(noisy);
  EXPECT_EQ(noisy.choice, TuneChoice::first);  // nothing cheaper is known to be as good
  EXPECT_EQ(noisy.open.size(), 2U);
  EXPECT_NEAR(*noisy.noise, 0.3, 0.12);
  const auto calmer = rank_settings(blocks_of(same, 12, 0.03), {});
  EXPECT_LT(calmer.more_measurements, noisy.more_measurements / 10);
}

// As many blocks as were asked for, and it is decided: the promise is of the right size.
TEST(TuneRanking, WhatItAsksForIsAboutEnough) {
  const std::map<Setting, double> rates{{{1, 1}, 100}, {{2, 1}, 103}};
  int decided = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto before = rank_settings(blocks_of(rates, 6, 0.03, seed), {});
    if (before.open.empty()) {
      ++decided;
      continue;
    }
    const auto blocks = 6 + static_cast<int>(before.more_measurements / 2);
    if (rank_settings(blocks_of(rates, blocks, 0.03, seed), {}).open.empty()) ++decided;
  }
  EXPECT_GE(decided, 10);
}

// The measured order of raw means was the other way round: the faster setting had the slow block.
TEST(TuneRanking, WhatABlockHasInCommonIsTakenOut) {
  const auto ranking = rank_settings({{{1, 1}, 0, 300},
                                      {{1, 1}, 1, 300},
                                      {{2, 1}, 2, 110},
                                      {{1, 1}, 2, 100},
                                      {{2, 1}, 3, 111},
                                      {{1, 1}, 3, 100}},
                                     {});
  EXPECT_EQ(ranking.order[0].setting, (Setting{2, 1}));
  EXPECT_NEAR(ranking.order[1].ratio->point, 1 / 1.105, 0.001);
}

// Settings that never met are compared through the one that met both.
TEST(TuneRanking, ComparesThroughAThird) {
  const auto ranking = rank_settings({{{1, 1}, 0, 100},
                                      {{2, 1}, 0, 200},
                                      {{1, 1}, 1, 101},
                                      {{2, 1}, 1, 200},
                                      {{2, 1}, 2, 50},
                                      {{4, 1}, 2, 75},
                                      {{2, 1}, 3, 50},
                                      {{4, 1}, 3, 76},
                                      {{9, 9}, 4, 1e6}},  // in no block with another
                                     {.reference = Setting{1, 1}});
  ASSERT_EQ(ranking.order.size(), 3U);
  EXPECT_EQ(ranking.order[0].setting, (Setting{4, 1}));
  EXPECT_NEAR(ranking.gain->point, 3.0, 0.03);
  EXPECT_LT(ranking.gain->low, 3.0);
  EXPECT_GT(ranking.gain->high, 3.0);
  EXPECT_THAT(ranking.order[2].setting, ElementsAre(1, 1));
}

TEST(TuneRanking, IntervalsCoverTheTruth) {
  int covered = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto ranking = rank_settings(blocks_of({{{1, 1}, 100}, {{2, 1}, 150}, {{4, 1}, 120}}, 4,
                                                 0.05, static_cast<std::uint64_t>(trial)),
                                       {.reference = Setting{1, 1}});
    covered += ranking.gain->low <= 1.5 && 1.5 <= ranking.gain->high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(covered) / kTrials, 0.95, 0.03);
}

TEST(TuneRanking, NothingMeasuredIsNothingRanked) {
  EXPECT_TRUE(rank_settings({}, {}).order.empty());
  const auto one = rank_settings({{{2, 2}, 0, 10}}, {});
  EXPECT_EQ(one.recommended, (Setting{2, 2}));
  EXPECT_EQ(one.order.size(), 1U);
}

}  // namespace
}  // namespace sluice::measure::tune_ranking_test
