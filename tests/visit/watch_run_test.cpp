// tests/visit/watch_run_test.cpp - marks made by hand become runs, rows and metrics.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/training_metrics.h"
#include "sluice/measure/summary.h"
#include "sluice/visit/watch/result.h"
#include "sluice/visit/watch/run.h"

#include <gtest/gtest.h>

namespace sluice::visit::watch_run_test {
namespace {

/// Steps of 100 ns, each with a phase of 40 ns; step i is i ns longer.
measure::Marks marks_of(int steps) {
  measure::Marks marks;
  marks.pid = 7;
  marks.names = {"forward"};
  std::int64_t at = 1000;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t end = at + 100 + i;
    marks.phases.push_back({at + 10, at + 50, 0});
    marks.steps.push_back({at, end, 0});
    at = end;
  }
  return marks;
}

TEST(WatchedRun, WarmUpIsLeftOutAndNoMoreThanAskedFor) {
  struct Row {
    int marked;
    std::int64_t warmup, steps;
    std::size_t expected;
  };
  const Row rows[] = {{10, 0, 0, 10}, {10, 3, 0, 7},  {10, 3, 4, 4},
                      {10, 3, 50, 7}, {10, 10, 0, 0}, {10, 99, 1, 0}};
  for (const Row& row : rows) {
    const measure::Run run = watched_run(marks_of(row.marked), row.warmup, row.steps);
    ASSERT_EQ(run.samples_ns.size(), row.expected);
    if (row.expected == 0) {
      EXPECT_TRUE(run.details.is_null());
      continue;
    }
    EXPECT_EQ(run.samples_ns.front(), 100 + row.warmup);
    EXPECT_EQ(run.warmup_discarded, row.warmup);
    EXPECT_EQ(run.pid, 7);
    const Json& details = run.details.at(0);
    EXPECT_EQ(details["phases_ns"]["forward"].size(), row.expected);
    EXPECT_EQ(details["phases_ns"]["forward"][0], 40);
    EXPECT_EQ(details["phased_step_ns"].size(), row.expected);
  }
}

TEST(WatchedRun, TheProcessWithMostStepsCounts) {
  EXPECT_EQ(main_process({marks_of(3), marks_of(9), marks_of(9)}), 1U);
  EXPECT_EQ(main_process({marks_of(0)}), 0U);
}

results::ResultFile file_of(measure::RowStatus status) {
  results::ResultFile file;
  file.machine_profile = "cpu";
  measure::Row row;
  row.case_name = "watch/step";
  row.status = status;
  row.items_per_sample = 1;
  row.runs = {watched_run(marks_of(20), 0, 0), watched_run(marks_of(30), 10, 0)};
  measure::summarise(row, 0.1);
  file.rows.push_back(row);
  return file;
}

TEST(ConcludeWatch, MetricsAreSoundAndWhatIsNotKnownIsNull) {
  results::ResultFile file = file_of(measure::RowStatus::ok);
  WatchPlan plan;
  plan.tokens_per_step = 512;
  plan.samples_per_step = 4;
  conclude_watch(file, plan, {std::nullopt, "no GPU was asked for"});
  const Json metrics = results::to_json(*file.training);
  EXPECT_EQ(analysis::training_metrics_problems(metrics), std::vector<std::string>{});
  EXPECT_EQ(metrics["throughput"]["tokens_per_step"], 512);
  EXPECT_EQ(metrics["run_config"]["seq_len"], 128);
  EXPECT_NEAR(metrics["phases"]["per_step"]["forward_s"].get<double>(), 40e-9, 1e-12);
  for (const char* key : {"mfu_p50", "flop_per_step", "achieved_tflops_p50"}) {
    EXPECT_TRUE(metrics["mfu"][key].is_null()) << key;
    EXPECT_FALSE(metrics["mfu"][std::string(key) + "_reason"].get<std::string>().empty()) << key;
  }
  EXPECT_NE(watch_text(file).find("watch/step: 40 steps in 2 runs"), std::string::npos);
  EXPECT_NE(watch_text(file).find("forward"), std::string::npos);
}

// Two fifths of a step are spent in the phase that marks.wrap(loader) names.
TEST(ConcludeWatch, WaitingForDataComesWithAdvice) {
  results::ResultFile file = file_of(measure::RowStatus::ok);
  EXPECT_EQ(watch_text(file).find("waits for data"), std::string::npos);
  for (measure::Run& run : file.rows.front().runs) {
    Json& phases = run.details.at(0)["phases_ns"];
    phases["data"] = phases["forward"];
    phases.erase("forward");
  }
  EXPECT_NE(watch_text(file).find("waits for data in"), std::string::npos);
  EXPECT_NE(watch_text(file).find("persistent_workers=True"), std::string::npos);
}

TEST(ConcludeWatch, NoMetricsOfAProgramThatFailed) {
  results::ResultFile file = file_of(measure::RowStatus::failed);
  conclude_watch(file, {}, {});
  EXPECT_FALSE(file.training);
  file.rows.front().runs.clear();
  EXPECT_EQ(watch_text(file), "");
}

}  // namespace
}  // namespace sluice::visit::watch_run_test
