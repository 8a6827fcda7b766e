// tests/gate/paired_selftest_test.cpp - whose turn it is, what trials add up to, pooled noise.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_selftest.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::gate::paired_selftest_test {
namespace {

PairedOutcome trial(double log_change, double sd, bool confirmed = true) {
  const double steps[] = {1, -1, 1, -1, 1, -1, 1, -1};
  const auto outcome =
      run_pairs({{.name = "stdout", .unit = "s", .better = measure::Better::lower}}, {},
                [&](int index, bool confirming) -> Result<std::vector<PairValue>> {
                  const double change = confirming && !confirmed ? 0 : log_change;
                  return std::vector<PairValue>{{1, std::exp(-change + sd * steps[index % 8])}};
                });
  EXPECT_TRUE(outcome);
  return *outcome;
}

TEST(Selftest, TurnsKeepTheSharesAtEveryMoment) {
  auto conditions = selftest_conditions(300, 100, {0.03, 0.05});
  ASSERT_EQ(conditions.size(), 3U);
  for (int i = 0; i < 500; ++i) {
    const auto next = next_condition(conditions);
    ASSERT_TRUE(next);
    ++conditions[*next].trials;
    EXPECT_NEAR(conditions[0].trials / 300.0, conditions[1].trials / 100.0, 0.011);
    EXPECT_NEAR(conditions[0].trials / 300.0, conditions[2].trials / 100.0, 0.011);
  }
  EXPECT_FALSE(next_condition(conditions));
  EXPECT_EQ(conditions[0].trials, 300);
}

TEST(Selftest, TrialsAreCountedByVerdict) {
  SelftestCondition condition{.slowdown = 0.05, .target = 10};
  record(condition, trial(0, 0.001));
  record(condition, trial(-0.05, 0.001));
  record(condition, trial(0.05, 0.001));
  record(condition, trial(-0.05, 0.001, false));
  EXPECT_EQ(condition.trials, 4);
  EXPECT_EQ(condition.passed, 1);
  EXPECT_EQ(condition.failed, 1);
  EXPECT_EQ(condition.improved, 1);
  EXPECT_EQ(condition.inconclusive, 1);
  EXPECT_EQ(condition.cleared_alarms, 1);
  EXPECT_EQ(condition.pairs, 8 + 16 + 8 + 32 + 24) << "three alarms, none confirmed";
}

TEST(Selftest, NoiseIsPooledOverTrials) {
  const PairedOptions options;
  const double scale = std::sqrt(8.0 / 7);  // of steps +-1: the divisor is n - 1
  std::vector<SelftestTrial> trials = {{0, trial(0, 0.001)}, {1, trial(-0.05, 0.003)}};
  const auto noise = noise_of(trials, options);
  ASSERT_TRUE(noise);
  EXPECT_NEAR(noise->sd, scale * std::sqrt((1e-6 + 9e-6) / 2), 1e-9);
  ASSERT_EQ(noise->mde.size(), 3U);
  EXPECT_GT(noise->mde[0], noise->mde[2]);
  EXPECT_EQ(noise->needed_pairs, 7);
  EXPECT_FALSE(noise_of({}, options));
}

TEST(Selftest, CryingWolfIsSaidOnlyBeyondDoubt) {
  const PairedOptions options;
  auto conditions = selftest_conditions(300, 100, {0.05});
  conditions[0].trials = 300;
  conditions[0].failed = 5;
  conditions[1].trials = 100;
  conditions[1].failed = 100;
  EXPECT_FALSE(cries_wolf(conditions, options));
  conditions[0].failed = 12;
  EXPECT_TRUE(cries_wolf(conditions, options));
  EXPECT_EQ(to_json(conditions)[0]["fail"]["count"], 12);
  EXPECT_TRUE(to_json(selftest_conditions(1, 1, {}))[0]["mean_pairs"].is_null());
}

TEST(Selftest, ATrialKeepsEveryValue) {
  const auto conditions = selftest_conditions(1, 1, {0.05});
  const Json json = to_json(SelftestTrial{1, trial(-0.05, 0.001)}, conditions);
  EXPECT_EQ(json["slowdown"], 0.05);
  EXPECT_EQ(json["status"], "FAIL");
  EXPECT_EQ(json["seconds"]["a"].size(), 8U);
  EXPECT_EQ(json["seconds"]["confirm_b"].size(), 8U);
}

}  // namespace
}  // namespace sluice::gate::paired_selftest_test
