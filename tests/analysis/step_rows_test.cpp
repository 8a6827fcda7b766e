// tests/analysis/step_rows_test.cpp - rows made by hand become times per batch, and the right
// verdict.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/step_rows.h"

#include "sluice/measure/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::analysis::step_rows_test {
namespace {

using ::testing::HasSubstr;

constexpr int kBatch = 8;

/// Two runs of one sample of ten batches each, `ms` per batch, give or take a hundredth.
measure::Row row_of(const std::string& part, double ms, double wait_ms = 0, double model_ms = 0,
                    double busy_ms = 0) {
  measure::Row row;
  row.case_name = "diagnose/" + part;
  row.items_per_sample = 10 * kBatch;
  for (const double factor : {0.99, 1.01}) {
    measure::Run run;
    run.samples_ns = {static_cast<std::int64_t>(ms * factor * 1e7)};
    run.details = Json::array({Json{{"wall_ns", run.samples_ns[0]},
                                    {"batches", 10},
                                    {"samples", 10 * kBatch},
                                    {"workers", 1},
                                    {"wait_ns", wait_ms * factor * 1e7},
                                    {"model_ns", model_ms * factor * 1e7},
                                    {"worker_busy_ns", busy_ms * factor * 1e7},
                                    {"stages", {{"decode", {{"busy_ns", busy_ms * 1e7}}}}}}});
    row.runs.push_back(run);
  }
  measure::summarise(row, 0.15);
  return row;
}

std::vector<measure::Row> input_bound() {
  return {row_of("loader", 40, 40, 0, 38), row_of("model", 10, 0, 10), row_of("transfer", 0.5),
          row_of("together", 42, 31, 11, 57)};
}

TEST(StepRowsTest, RatesBecomeTimesPerBatch) {
  const auto times = step_times(input_bound(), kBatch);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_NEAR(times->loader.point, 40, 0.05);
  EXPECT_LT(times->loader.low, times->loader.point);
  EXPECT_GT(times->loader.high, times->loader.point);
  EXPECT_NEAR(times->model.point, 10, 0.02);
  ASSERT_TRUE(times->transfer);
  EXPECT_NEAR(times->transfer->point, 0.5, 0.01);
  EXPECT_NEAR(times->together.point, 42, 0.05);
  EXPECT_NEAR(times->wait_share.point, 31.0 / 42, 1e-6);
  EXPECT_NEAR(times->loader_slowdown.value(), 1.5, 1e-6);
  EXPECT_NEAR(times->model_slowdown.value(), 1.1, 2e-3);
}

TEST(StepRowsTest, TheVerdictComesWithTheLoadersStages) {
  const auto found = diagnosis_of(input_bound(), kBatch, {.workers = 1, .cores = 2});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->attribution.value->verdict, Bottleneck::input);
  EXPECT_EQ(found->findings.size(), 2U);  // it is the loader; in it, decode
  EXPECT_THAT(found->findings[1].diagnosis, HasSubstr("decode"));
  EXPECT_EQ(found->stages[0].stage, "decode");
}

TEST(StepRowsTest, WhereItIsTheModelTheLoaderIsLeftAlone) {
  const auto found = diagnosis_of({row_of("loader", 10, 10, 0, 9), row_of("model", 40, 0, 40),
                                   row_of("together", 40.4, 0.1, 40, 9)},
                                  kBatch, {.workers = 1, .cores = 2});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->attribution.value->verdict, Bottleneck::compute);
  EXPECT_EQ(found->findings.size(), 1U);
  EXPECT_FALSE(found->attribution.value->times.transfer);
  EXPECT_FALSE(found->attribution.value->times.no_transfer.empty());
}

TEST(StepRowsTest, ARowThatFailedIsNamed) {
  std::vector<measure::Row> rows = input_bound();
  rows[1].summary.reset();
  rows[1].status = measure::RowStatus::failed;
  rows[1].reason = "the worker died";
  const auto times = step_times(rows, kBatch);
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().code, Errc::measurement);
  EXPECT_THAT(times.error().message, HasSubstr("diagnose/model: the worker died"));
  rows.pop_back();
  rows[1] = input_bound()[1];
  EXPECT_THAT(step_times(rows, kBatch).error().message, HasSubstr("diagnose/together"));
}

/// Details come from another process: nobody vouches for them.
TEST(StepRowsTest, OddDetailsAreNoTimes) {
  std::vector<measure::Row> rows = input_bound();
  for (measure::Row& row : rows)
    for (measure::Run& run : row.runs)
      run.details = Json::array({Json{{"wait_ns", "long"}, {"batches", Json::array()}}, 3});
  const auto times = step_times(rows, kBatch);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->wait_share.point, 0);
  EXPECT_FALSE(times->loader_slowdown);
  EXPECT_FALSE(times->model_slowdown);
}

}  // namespace
}  // namespace sluice::analysis::step_rows_test
