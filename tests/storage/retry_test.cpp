// tests/storage/retry_test.cpp - waits, the budget, what servers ask for, and when to hedge.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/retry.h"

#include "sluice/storage/remote/http.h"
#include "sluice/storage/remote/latency.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::storage::retry_test {
namespace {

/// Longest and mean of many waits.
std::pair<double, double> waits(const RetryPolicy& policy, RetryCause cause, int failures) {
  double longest = 0;
  double sum = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    Rng rng(RngKey{.seed = 7, .index = static_cast<std::uint64_t>(i)});
    const double delay = retry_delay_s(policy, cause, failures, -1, rng);
    longest = std::max(longest, delay);
    sum += delay;
  }
  return {longest, sum / kDraws};
}

TEST(RetryDelay, IsUniformBelowALimitThatDoubles) {
  const RetryPolicy policy{.max_attempts = 8, .base_s = 1, .throttle_base_s = 4, .cap_s = 10};
  for (int failures = 1; failures <= 6; ++failures) {
    const double limit = std::min(10.0, static_cast<double>(1 << (failures - 1)));
    const auto [longest, mean] = waits(policy, RetryCause::reset, failures);
    EXPECT_LT(longest, limit);
    EXPECT_GT(longest, 0.98 * limit);
    EXPECT_NEAR(mean, limit / 2, 0.03 * limit);
  }
  EXPECT_GT(waits(policy, RetryCause::throttled, 1).first, 3.9);
  EXPECT_LT(waits(policy, RetryCause::reset, 5000).first, 10);
}

TEST(RetryDelay, IsNoneWhereSomethingWasLearned) {
  Rng rng(RngKey{});
  for (const RetryCause cause : {RetryCause::skew, RetryCause::redirect, RetryCause::credentials})
    EXPECT_EQ(retry_delay_s({}, cause, 3, -1, rng), 0);
  EXPECT_EQ(retry_delay_s({}, RetryCause::truncated, 0, -1, rng), 0) << "after progress";
}

TEST(RetryDelay, FollowsTheServerUpToTheCap) {
  const RetryPolicy policy{.max_attempts = 8, .base_s = 0.01, .throttle_base_s = 0.01, .cap_s = 5};
  Rng rng(RngKey{});
  EXPECT_EQ(retry_delay_s(policy, RetryCause::throttled, 1, 3, rng), 3);
  EXPECT_EQ(retry_delay_s(policy, RetryCause::server, 1, 3600, rng), 5);
}

TEST(RetryAfter, IsSecondsOrADate) {
  EXPECT_EQ(parse_retry_after("12", 0), 12);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111770), 7);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111999), 0);
  for (const char* text : {"", "soon", "-1", "1.5", "12 s"})
    EXPECT_LT(parse_retry_after(text, 0), 0);
}

TEST(HttpDate, IsReadStrictly) {
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
  EXPECT_EQ(parse_http_date("Thu, 29 Feb 2024 00:00:00 GMT"), 1709164800);
  for (const char* text : {"", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT ",
                           "Sun, 31 Feb 2024 00:00:00 GMT", "Sun, 06 ovN 1994 08:49:37 GMT",
                           "Sun, 06 Nov 1994 24:49:37 GMT"})
    EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
}

TEST(Attempts, AreReadFromTheEnvironmentStrictly) {
  EXPECT_EQ(parse_attempts("3"), 3);
  EXPECT_EQ(parse_attempts("100"), 100);
  for (const char* text : {"", "0", "-1", "101", "3x", " 3", "many"})
    EXPECT_EQ(parse_attempts(text), std::nullopt) << text;
}

TEST(RetryBudget, EndsAnOutageEarlyAndRecovers) {
  RetryBudget budget;
  std::int64_t made = 0;
  while (budget.spend(RetryCause::reset))
    ++made;
  EXPECT_EQ(made, RetryBudget::kCapacity / RetryBudget::kRetryCost);
  EXPECT_FALSE(budget.spend(RetryCause::timeout));
  budget.earn(0);  // one token: not yet enough
  EXPECT_FALSE(budget.spend(RetryCause::reset));
  budget.earn(RetryBudget::kRetryCost);
  EXPECT_TRUE(budget.spend(RetryCause::reset));
  for (int i = 0; i < 2000; ++i)
    budget.earn(100);
  EXPECT_EQ(budget.left(), RetryBudget::kCapacity);
}

TEST(RetryBudget, LastsForeverAtFivePercentFaults) {
  RetryBudget budget;
  Rng rng(RngKey{.seed = 3});
  for (int i = 0; i < 100'000; ++i) {
    std::int64_t spent = 0;
    while (rng.uniform() < 0.05) {
      ASSERT_TRUE(budget.spend(RetryCause::timeout));
      spent += RetryBudget::kTimeoutCost;
    }
    budget.earn(spent);
  }
  EXPECT_GT(budget.left(), RetryBudget::kCapacity * 9 / 10);
}

TEST(LatencyHistogram, FindsQuantilesWithinItsSteps) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0);
  for (int i = 1; i <= 1000; ++i)
    histogram.add(i * 1e-3);
  EXPECT_NEAR(histogram.quantile(0.5), 0.5, 0.05);
  EXPECT_NEAR(histogram.quantile(0.99), 0.99, 0.1);
  histogram.add(-1);
  histogram.add(1e9);
  EXPECT_EQ(histogram.count(), 1002U);
}

TEST(HedgePolicy, WaitsForTheSlowestHundredthOfLikeSize) {
  HedgePolicy policy;
  constexpr std::size_t kRange = std::size_t{8} << 20;
  EXPECT_LT(policy.after_s(kRange), 0) << "nothing known: no hedge";
  EXPECT_EQ(policy.after_s(1000), 2) << "small ones after two seconds";
  for (int i = 0; i < 990; ++i)
    policy.add(kRange, 0.1);
  for (int i = 0; i < 10; ++i)
    policy.add(kRange, 5);
  EXPECT_NEAR(policy.after_s(kRange), 0.1, 0.01);
  EXPECT_LT(policy.after_s(kRange * 4), 0) << "of another size";
  for (std::uint64_t i = 0; i < HedgePolicy::kEnough; ++i)
    policy.add(1000, 1e-4);
  EXPECT_EQ(policy.after_s(1000), HedgePolicy::kFloor_s);
}

TEST(HedgePolicy, KeepsHedgesToAShareOfAllRequests) {
  HedgePolicy policy;
  for (int i = 0; i < 1000; ++i)
    policy.add(100, 0.001);
  int taken = 0;
  while (policy.take())
    ++taken;
  EXPECT_EQ(taken, 30);  // 10 to begin with, and 2 %
}

}  // namespace
}  // namespace sluice::storage::retry_test
