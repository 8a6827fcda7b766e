// tests/measure/summary_test.cpp - stop rules and rows from hand-computed numbers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/summary.h"

#include "sluice/measure/stop_rule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::measure::summary_test {
namespace {

constexpr std::int64_t kMs = 1'000'000;

Run run_of(std::vector<std::int64_t> samples_ns, std::int64_t cpu_ns = 0) {
  Run run;
  run.samples_ns = std::move(samples_ns);
  run.cpu_ns = cpu_ns;
  return run;
}

/// Run rates 100, 200 and 400 items/s at 10 items per sample.
Row three_runs() {
  Row row;
  row.items_per_sample = 10;
  row.runs = {run_of({100 * kMs, 100 * kMs}, 200 * kMs), run_of({40 * kMs, 60 * kMs}, 100 * kMs),
              run_of({25 * kMs, 25 * kMs}, 50 * kMs)};
  return row;
}

Policy policy_of(StopKind stop, int runs) {
  Policy policy;
  policy.stop = stop;
  policy.runs = runs;
  return policy;
}

TEST(StopRuleTest, CountLooksAtRunsAlone) {
  const auto rule = make_stop_rule(policy_of(StopKind::count, 3));
  EXPECT_FALSE(rule->finished({}, 1e9));
  EXPECT_FALSE(rule->finished({1, 1}, 1e9));
  EXPECT_TRUE(rule->finished({1, 1, 1}, 0));
  EXPECT_TRUE(rule->finished({1, 1, 1, 1}, 0));
}

TEST(StopRuleTest, TimeNeedsTheBudgetAndTheRuns) {
  Policy policy = policy_of(StopKind::time, 2);
  policy.time_budget_s = 10;
  const auto rule = make_stop_rule(policy);
  EXPECT_FALSE(rule->finished({1}, 20));
  EXPECT_FALSE(rule->finished({1, 1}, 9.99));
  EXPECT_TRUE(rule->finished({1, 1}, 10));
}

TEST(StopRuleTest, WidthComparesTheIntervalWithTheMean) {
  // 99, 100, 101: sd 1, t(2) = 4.3027, so the interval is 2 * 4.3027 / sqrt(3) = 4.97 % wide.
  const std::vector<double> rates{99, 100, 101};
  Policy policy = policy_of(StopKind::width, 3);
  policy.target_width = 0.0496;
  EXPECT_FALSE(make_stop_rule(policy)->finished(rates, 0));
  policy.target_width = 0.0498;
  EXPECT_TRUE(make_stop_rule(policy)->finished(rates, 0));
  policy.runs = 4;
  EXPECT_FALSE(make_stop_rule(policy)->finished(rates, 0)) << "at least `runs`";
}

TEST(StopRuleTest, WidthEndsAtTheMaximumAndNeedsTwo) {
  Policy policy = policy_of(StopKind::width, 1);
  policy.target_width = 0.001;
  policy.max_runs = 3;
  const auto rule = make_stop_rule(policy);
  EXPECT_FALSE(rule->finished({50}, 0)) << "one run has no interval";
  EXPECT_FALSE(rule->finished({50, 150}, 0));
  EXPECT_TRUE(rule->finished({50, 150, 100}, 0));
  EXPECT_TRUE(rule->finished({100, 100}, 0)) << "no width at all";
}

TEST(StopRuleTest, UsualEndsWhenTheBestIsNoLuck) {
  Policy policy = policy_of(StopKind::usual, 5);
  policy.target_width = 0.01;
  policy.max_runs = 7;
  const auto rule = make_stop_rule(policy);
  EXPECT_FALSE(rule->finished({100, 100, 100, 100}, 1e9)) << "at least `runs`";
  EXPECT_TRUE(rule->finished({100, 99.5, 80, 70, 60}, 0)) << "the quartile of five is the second";
  EXPECT_FALSE(rule->finished({100, 98, 97, 96, 95}, 0));
  EXPECT_FALSE(rule->finished({110, 98, 97, 96, 95, 94}, 0));
  EXPECT_TRUE(rule->finished({110, 98, 97, 96, 95, 94, 93}, 0)) << "`max_runs`";
  policy.runs = 1;
  EXPECT_FALSE(make_stop_rule(policy)->finished({100}, 0)) << "one run shows no luck";
}

TEST(StopRuleTest, UsualLooksAtMediansTheOthersAtAllTime) {
  Row row;
  row.items_per_sample = 10;
  row.runs = {run_of({100 * kMs, 100 * kMs, 1000 * kMs})};
  EXPECT_DOUBLE_EQ(rates_for(StopKind::usual, row).at(0), 100);
  EXPECT_DOUBLE_EQ(rates_for(StopKind::count, row).at(0), 25);
}

TEST(SummaryTest, RateIsAllItemsOverAllTime) {
  EXPECT_DOUBLE_EQ(run_rate(run_of({40 * kMs, 60 * kMs}), 10), 200);
  EXPECT_DOUBLE_EQ(run_rate(run_of({}), 10), 0);
  EXPECT_EQ(run_rates(three_runs()).size(), 3u);
}

TEST(SummaryTest, HandComputed) {
  Row row = three_runs();
  summarise(row, 0.15);
  ASSERT_TRUE(row.summary);
  const Summary& summary = *row.summary;
  EXPECT_EQ(summary.n_runs, 3);
  EXPECT_EQ(summary.n_samples, 6);
  EXPECT_DOUBLE_EQ(summary.median, 200);
  EXPECT_NEAR(summary.mean, 233.33333333, 1e-6);
  EXPECT_NEAR(summary.sd, 152.75252317, 1e-6);
  EXPECT_NEAR(summary.cv, 0.6546536707, 1e-9);
  EXPECT_TRUE(summary.unstable);
  // Samples: 100, 100, 166.67, 250, 400, 400.
  EXPECT_NEAR(summary.p10, 100, 1e-9);
  EXPECT_NEAR(summary.p50, 208.33333333, 1e-6);
  EXPECT_NEAR(summary.p90, 400, 1e-9);
  EXPECT_NEAR(summary.p99, 400, 1e-9);
  // Logs are ln 200 and ln 2 to both sides, so their sd is ln 2; t(2) = 4.302652730.
  const double half = 4.302652730 * std::log(2.0) / std::sqrt(3.0);
  ASSERT_TRUE(summary.ci95);
  EXPECT_NEAR(summary.ci95->low, 200 * std::exp(-half), 1e-5);
  EXPECT_NEAR(summary.ci95->high, 200 * std::exp(half), 1e-3);
  EXPECT_EQ(summary.ci95->over, "run");
  EXPECT_EQ(summary.ci95->method, "t on log run means");
  EXPECT_DOUBLE_EQ(row.thread_policy.cpu_per_wall, 1.0);  // 350 ms cpu, 350 ms wall
}

TEST(SummaryTest, UnstableOnlyAboveTheLimit) {
  Row row = three_runs();
  summarise(row, 0.66);
  EXPECT_FALSE(row.summary->unstable);
}

TEST(SummaryTest, OneRunHasNoSpreadAndAnIntervalOverIterations) {
  Row row = three_runs();
  row.runs = {run_of({100 * kMs, 110 * kMs, 90 * kMs, 100 * kMs})};
  summarise(row, 0.15);
  ASSERT_TRUE(row.summary);
  EXPECT_EQ(row.summary->n_runs, 1);
  EXPECT_EQ(row.summary->sd, 0);
  EXPECT_EQ(row.summary->cv, 0);
  EXPECT_FALSE(row.summary->unstable);
  ASSERT_TRUE(row.summary->ci95);
  EXPECT_EQ(row.summary->ci95->over, "iteration");
  EXPECT_EQ(row.summary->ci95->method, "moving-block bootstrap");
  EXPECT_LE(row.summary->ci95->low, row.summary->mean);
  EXPECT_GE(row.summary->ci95->high, row.summary->mean);
}

/// A bootstrap over four samples of two runs gave intervals that did not hold the median.
TEST(SummaryTest, TwoRunsGiveAWideIntervalOverRuns) {
  Row row = three_runs();
  row.runs.pop_back();
  summarise(row, 0.15);
  ASSERT_TRUE(row.summary->ci95);
  EXPECT_EQ(row.summary->ci95->over, "run");
  EXPECT_LT(row.summary->ci95->low, row.summary->median);
  EXPECT_GT(row.summary->ci95->high, row.summary->median);
  // Rates 100 and 200: log ratio ln 2, t(1) = 12.7062047364.
  const double half = 12.7062047364 * std::log(2.0) / 2;
  EXPECT_NEAR(std::log(row.summary->ci95->high / row.summary->ci95->low), 2 * half, 1e-6);
  EXPECT_NEAR(row.summary->sd, 70.710678, 1e-5);
}

TEST(SummaryTest, OneSampleHasNoInterval) {
  Row row = three_runs();
  row.runs = {run_of({100 * kMs}, 198 * kMs)};
  summarise(row, 0.15);
  ASSERT_TRUE(row.summary);
  EXPECT_FALSE(row.summary->ci95);
  EXPECT_DOUBLE_EQ(row.summary->p99, 100);
  EXPECT_DOUBLE_EQ(row.thread_policy.cpu_per_wall, 1.98);
}

TEST(SummaryTest, NoRunsNoSummary) {
  Row row = three_runs();
  summarise(row, 0.15);
  row.runs.clear();
  summarise(row, 0.15);
  EXPECT_FALSE(row.summary);
  EXPECT_EQ(row.thread_policy.cpu_per_wall, 0);
}

TEST(SummaryTest, EqualRunsHaveAnIntervalOfNoWidth) {
  Row row = three_runs();
  row.runs = {run_of({50 * kMs}), run_of({50 * kMs}), run_of({50 * kMs})};
  summarise(row, 0.15);
  ASSERT_TRUE(row.summary && row.summary->ci95);
  EXPECT_NEAR(row.summary->ci95->low, 200, 1e-9);
  EXPECT_NEAR(row.summary->ci95->high, 200, 1e-9);
}

}  // namespace
}  // namespace sluice::measure::summary_test
