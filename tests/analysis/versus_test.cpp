// tests/analysis/versus_test.cpp - wins, ties and losses against the fastest other, on rows made by
// hand.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/versus.h"

#include "sluice/measure/summary.h"

#include <gtest/gtest.h>

namespace sluice::analysis::versus_test {
namespace {

Json written(const VersusSummary& summary) {
  results::ResultFile file;
  file.versus = summary;
  return results::to_json(file)["summary"];
}

/// An ok row whose runs have these rates, one block each.
measure::Row row(const std::string& name, const std::string& library,
                 const std::vector<double>& rates) {
  measure::Row made;
  made.case_name = name;
  made.library = library;
  made.items_per_sample = 1000;
  double sum = 0;
  for (std::size_t b = 0; b < rates.size(); ++b) {
    measure::Run run;
    run.block = static_cast<int>(b);
    run.samples_ns = {static_cast<std::int64_t>(1000.0 / rates[b] * 1e9)};
    made.runs.push_back(run);
    sum += rates[b];
  }
  made.summary = measure::Summary{};
  made.summary->median = sum / static_cast<double>(rates.size());
  return made;
}

TEST(Versus, TheFastestOtherIsWhatCounts) {
  const std::vector<measure::Row> rows = {
      row("t/A", "sluice", {200, 202, 198, 200}), row("t/A", "slow", {50, 50, 50, 50}),
      row("t/A", "fast", {100, 101, 99, 100}), row("t/A", "memcpy", {400, 400, 400, 400})};
  const auto list = versus_fastest(rows);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].peer, "fast");
  EXPECT_NEAR(list[0].ratio->point, 2, 0.01);
  EXPECT_NEAR(list[0].of_memcpy->point, 0.5, 0.01) << "the yardstick is no peer";
  EXPECT_EQ(list[0].standing, Standing::win);
}

TEST(Versus, AnIntervalThatHoldsOneIsATie) {
  const auto standing = [](const std::vector<double>& ours, const std::vector<double>& theirs) {
    return versus_fastest({row("t/A", "sluice", ours), row("t/A", "other", theirs)})[0].standing;
  };
  EXPECT_EQ(standing({103, 103, 103.1, 103}, {100, 100.1, 100, 100}), Standing::win);
  EXPECT_EQ(standing({120, 90, 110, 95}, {100, 100, 100, 100}), Standing::tie);
  EXPECT_EQ(standing({98, 98, 98.1, 98}, {100, 100.1, 100, 100}), Standing::tie) << "within 3 %";
  EXPECT_EQ(standing({90, 90, 90.1, 90}, {100, 100.1, 100, 100}), Standing::loss);
  EXPECT_EQ(standing({80, 120, 81, 119}, {130, 130, 130, 130}), Standing::tie)
      << "doubt is no loss";
}

TEST(Versus, SummaryCountsAndAverages) {
  auto failed = row("t/D", "sluice", {1, 1});
  failed.status = measure::RowStatus::failed;
  auto stopped = row("t/C", "other", {1, 1});
  stopped.status = measure::RowStatus::early_stopped;
  const std::vector<measure::Row> rows = {row("t/A", "sluice", {400, 400, 400}),
                                          row("t/A", "other", {100, 100, 100}),
                                          row("t/B", "sluice", {50, 50, 50}),
                                          row("t/B", "other", {100, 100, 100}),
                                          row("t/C", "sluice", {10, 10, 10}),
                                          stopped,
                                          failed};
  const auto list = versus_fastest(rows);
  const VersusSummary summary = summarise(list, rows);
  EXPECT_EQ(summary.rows, 3);
  EXPECT_EQ(summary.wins, 1);
  EXPECT_EQ(summary.losses, 1);
  EXPECT_EQ(summary.alone, 1);
  EXPECT_NEAR(summary.geomean->point, std::sqrt(4 * 0.5), 1e-6);
  EXPECT_EQ(summary.slowest_case, "t/B");
  EXPECT_EQ(summary.failed, std::vector<std::string>{"t/D"});
  const Json json = written(summary);
  EXPECT_EQ(json.at("wins"), 1);
  EXPECT_EQ(json.at("rows"), 3);
  EXPECT_NEAR(json.at("geomean_ratio").get<double>(), std::sqrt(2.0), 1e-6);
}

TEST(Versus, WhatComputesSomethingElseCountsForNothing) {
  auto other = row("t/A", "other", {500, 500, 500});
  other.not_comparable = "rounds differently";
  auto only = row("t/B", "other", {50, 50, 50});
  only.not_comparable = "another filter";
  const std::vector<measure::Row> rows = {row("t/A", "sluice", {200, 200, 200}), other,
                                          row("t/A", "same", {100, 100, 100}),
                                          row("t/B", "sluice", {200, 200, 200}), only};
  const auto list = versus_fastest(rows);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].peer, "same") << "slower than the other, but it does the same";
  EXPECT_TRUE(list[0].comparable);
  EXPECT_EQ(list[0].standing, Standing::win);
  EXPECT_EQ(list[1].peer, "other");
  EXPECT_EQ(list[1].standing, Standing::differs);
  const VersusSummary summary = summarise(list, rows);
  EXPECT_EQ(summary.wins, 1);
  EXPECT_EQ(summary.different, 1);
  EXPECT_NEAR(summary.geomean->point, 2, 1e-6) << "t/B is in no mean";
  EXPECT_EQ(summary.slowest_case, "t/A");
  EXPECT_EQ(written(summary).at("different"), 1);
}

TEST(Versus, NothingIsNotZero) {
  VersusSummary summary = summarise({}, {});
  EXPECT_TRUE(written(summary).at("geomean_ratio").is_null());
  summary.versus = {Versus{}};
  EXPECT_TRUE(written(summary).at("versus")[0].at("ratio").is_null());
}

}  // namespace
}  // namespace sluice::analysis::versus_test
