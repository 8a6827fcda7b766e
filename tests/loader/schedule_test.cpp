// tests/loader/schedule_test.cpp - shares of the mix: the bound of `deficit` at every block, who
// was not ready is repaid, `random` is what its weights say.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/mixture/schedule.h"

#include "sluice/core/rng.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::loader::mixture::schedule_test {
namespace {

std::vector<double> random_weights(Rng& rng, std::size_t n) {
  std::vector<double> weights;
  const bool uneven = rng.below(2) == 0;
  for (std::size_t i = 0; i < n; ++i)
    weights.push_back(uneven ? std::exp(rng.uniform(-5, 5)) : 1.0);
  return weights;
}

TEST(ScheduleTest, DeficitStaysWithinOneBlockAtEveryBlock) {
  Rng rng(RngKey{.seed = 11});
  for (int round = 0; round < 200; ++round) {
    const std::size_t n = 1 + rng.below(round < 150 ? 8 : 60);
    Schedule schedule(random_weights(rng, n), Mix::deficit, 0);
    const double bound = n > 1 ? 1.0 - 1.0 / (2.0 * static_cast<double>(n) - 2.0) : 0.0;
    for (std::uint64_t t = 1; t <= 800; ++t) {
      const std::size_t due = schedule.due();
      ASSERT_EQ(*schedule.choose(std::vector<char>(n, 1)), due);
      schedule.take(due);
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_LE(std::abs(static_cast<double>(schedule.taken()[i]) -
                           schedule.shares()[i] * static_cast<double>(t)),
                  bound + 1e-6)
            << "round " << round << ", block " << t << ", source " << i << " of " << n;
    }
  }
}

TEST(ScheduleTest, WhoWasNotReadyIsRepaid) {
  Rng rng(RngKey{.seed = 12});
  for (int round = 0; round < 50; ++round) {
    const std::size_t n = 2 + rng.below(10);
    Schedule schedule(random_weights(rng, n), Mix::deficit, 0);
    std::vector<char> ready(n, 1);
    const std::size_t slow = rng.below(n);
    for (int t = 0; t < 300; ++t) {  // one gives nothing for a while
      ready[slow] = t < 100 || t >= 200 ? 1 : 0;
      const auto chosen = schedule.choose(ready);
      ASSERT_TRUE(chosen);
      ASSERT_NE(ready[*chosen], 0) << "never one that is not ready";
      schedule.take(*chosen);
    }
    ready[slow] = 1;
    // Long enough for its debt of at most 100 blocks, whatever its share.
    const double share = schedule.shares()[slow];
    const int more = static_cast<int>(300 / (1 - share)) + 2000;
    for (int t = 0; t < std::min(more, 50000); ++t)
      schedule.take(*schedule.choose(ready));
    const auto total = static_cast<double>(schedule.blocks());
    if (share < 0.9) {
      EXPECT_NEAR(static_cast<double>(schedule.taken()[slow]), share * total, 1.5) << round;
    }
  }
}

TEST(ScheduleTest, NobodyReadyIsNobody) {
  const Schedule schedule({1, 1}, Mix::deficit, 0);
  EXPECT_FALSE(schedule.choose(std::vector<char>{0, 0}));
  EXPECT_EQ(*schedule.choose(std::vector<char>{0, 1}), 1U);
}

TEST(ScheduleTest, RandomHasTheSharesOfItsWeightsAndTheSwitchRateOfIndependentDraws) {
  const std::size_t n = 29;
  Schedule schedule(std::vector<double>(n, 0.03), Mix::random, 5);
  constexpr int kBlocks = 20000;
  std::size_t last = n;
  int switches = 0;
  for (int t = 0; t < kBlocks; ++t) {
    const std::size_t chosen = *schedule.choose(std::vector<char>(n, 1));
    switches += chosen != last ? 1 : 0;
    last = chosen;
    schedule.take(chosen);
  }
  const double expected = 1 - 1.0 / 29;
  const double error = std::sqrt(expected * (1 - expected) / kBlocks);
  EXPECT_NEAR(static_cast<double>(switches) / kBlocks, expected, 3 * error);
  double chi2 = 0;
  for (const std::uint64_t taken : schedule.taken())
    chi2 += std::pow(static_cast<double>(taken) - kBlocks / 29.0, 2) / (kBlocks / 29.0);
  EXPECT_LT(chi2, 56.9) << "chi-square, 28 degrees of freedom, p = 0.001";
}

TEST(ScheduleTest, RandomNeverTakesWhoIsNotReady) {
  Schedule schedule({1000, 1, 1}, Mix::random, 1);
  for (int t = 0; t < 200; ++t) {
    const auto chosen = schedule.choose(std::vector<char>{0, 1, 1});
    ASSERT_NE(*chosen, 0U);
    schedule.take(*chosen);
  }
}

TEST(ScheduleTest, EndedSourcesLeaveTheirShareToTheOthers) {
  Schedule schedule({1, 1, 2}, Mix::deficit, 0);
  for (int t = 0; t < 40; ++t)
    schedule.take(schedule.due());
  schedule.leave_out(2);
  for (int t = 0; t < 40; ++t)
    schedule.take(schedule.due());
  EXPECT_EQ(schedule.taken(), (std::vector<std::uint64_t>{30, 30, 20}));
}

TEST(ScheduleTest, GoesOnWhereItWas) {
  for (const Mix mix : {Mix::deficit, Mix::random}) {
    Schedule one({3, 1, 5, 2}, mix, 9);
    for (int t = 0; t < 57; ++t)
      one.take(one.due());
    one.leave_out(1);
    Schedule two({3, 1, 5, 2}, mix, 9);
    ASSERT_TRUE(two.restore(*parse_json(dump_json(one.state()), "state")));
    for (int t = 0; t < 200; ++t) {
      ASSERT_EQ(one.due(), two.due());
      one.take(one.due());
      two.take(two.due());
    }
    EXPECT_FALSE(two.restore(Json::object()));
    EXPECT_FALSE(Schedule({1, 1}, mix, 0).restore(one.state()));
  }
}

}  // namespace
}  // namespace sluice::loader::mixture::schedule_test
