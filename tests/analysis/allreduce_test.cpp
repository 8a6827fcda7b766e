// tests/analysis/allreduce_test.cpp - one row of all sizes becomes a row for each, with the
// bandwidths of nccl-tests.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/world/allreduce.h"

#include "sluice/measure/summary.h"
#include "sluice/results/result_file.h"

#include <gtest/gtest.h>

namespace sluice::analysis::allreduce_test {
namespace {

Json size_json(std::int64_t bytes, std::int64_t sums, std::int64_t elapsed_ns) {
  return Json{{"bytes", bytes}, {"sums", sums}, {"elapsed_ns", elapsed_ns}, {"cpu_ns", 10}};
}

measure::Row ladder(int ranks, int runs) {
  measure::Row row;
  row.params = {{"world_size", std::to_string(ranks)}};
  row.case_name = "allreduce/sum/world_size=" + std::to_string(ranks);
  row.unit = "sums/s";
  row.items_per_sample = 1;
  for (int i = 0; i < runs; ++i) {
    measure::Run& run = row.runs.emplace_back();
    run.run_id = "session/" + row.case_name + "/sluice/" + std::to_string(i);
    run.block = i;
    run.samples_ns = {9'000'000, 9'000'000};  // of the whole pass: says nothing here
    for (int sample = 0; sample < 2; ++sample)
      run.details.push_back(
          Json{{"world_size", ranks},
               {"machines", 1},
               {"library", "MPI"},
               {"sizes", Json::array({size_json(8, 100, 200'000 + 1000 * (i - 1)),
                                      size_json(4'000'000, 2, 8'000'000 + 10'000 * (i - 1))})}});
  }
  return row;
}

TEST(AllreduceAnalysis, EverySizeHasItsOwnRowAndSamples) {
  const auto rows = rows_by_size(ladder(4, 3), 0.15);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].case_name, "allreduce/sum/bytes=8/world_size=4");
  EXPECT_EQ(rows[1].case_name, "allreduce/sum/bytes=4000000/world_size=4");
  EXPECT_EQ(rows[1].runs[2].run_id, "session/allreduce/sum/bytes=4000000/world_size=4/sluice/2");
  EXPECT_EQ(rows[0].items_per_sample, 100);
  EXPECT_EQ(rows[0].runs[1].samples_ns, (std::vector<std::int64_t>{200'000, 200'000}));
  EXPECT_EQ(rows[0].runs[1].cpu_ns, 20);
  ASSERT_TRUE(rows[0].summary);
  EXPECT_NEAR(rows[0].summary->mean, 500'000, 50);  // sums a second
}

TEST(AllreduceAnalysis, SumsOfDevicesAreRowsOfTheirOwn) {
  measure::Row row = ladder(4, 3);
  row.params["device"] = "cuda";
  const auto rows = rows_by_size(row, 0.15);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].case_name, "allreduce/sum/bytes=8/device=cuda/world_size=4");
  const auto summary = allreduce_summary(rows);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->lines.size(), 2U);
}

TEST(AllreduceAnalysis, BandwidthsAreThoseOfNcclTests) {
  const auto summary = allreduce_summary(rows_by_size(ladder(4, 3), 0.15));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->world_size, 4);
  EXPECT_EQ(summary->library, "MPI");
  const results::AllreduceLine& large = summary->lines.at(1);
  EXPECT_NEAR(large.time_us.point, 4000, 1);
  EXPECT_NEAR(large.algorithm_gb_per_s.point, 1.0, 1e-3);  // 4 MB in 4 ms
  EXPECT_NEAR(large.bus_gb_per_s.point, 1.5, 2e-3);        // 2 (4 - 1) / 4 times that
  EXPECT_LT(large.time_us.low, large.time_us.point);
  EXPECT_GT(large.time_us.high, large.time_us.point);
  EXPECT_LT(large.bus_gb_per_s.low, large.bus_gb_per_s.high);
  const auto two = allreduce_summary(rows_by_size(ladder(2, 3), 0.15));
  EXPECT_NEAR(two->lines.at(1).bus_gb_per_s.point, 1.0, 1e-3);
}

TEST(AllreduceAnalysis, WhatWasConcludedIsReadAgain) {
  results::ResultFile file;
  file.rows = rows_by_size(ladder(2, 3), 0.15);
  file.allreduce = allreduce_summary(file.rows);
  const auto read = results::from_json(results::to_json(file), "file");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->allreduce);
  EXPECT_EQ(results::to_json(*read), results::to_json(file));
  EXPECT_TRUE(read->extra.is_null());
}

TEST(AllreduceAnalysis, ARowThatFailedStaysOneRow) {
  measure::Row row = ladder(2, 0);
  row.status = measure::RowStatus::failed;
  row.reason = "rank 1 of 2 did not come";
  const auto rows = rows_by_size(row, 0.15);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].reason, row.reason);
  EXPECT_FALSE(allreduce_summary(rows));
}

}  // namespace
}  // namespace sluice::analysis::allreduce_test
