// tests/visit/watch_run_test.cpp - marks made by hand become runs, rows and metrics.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/training_metrics.h"
#include "sluice/measure/summary.h"
#include "sluice/visit/watch/marked_run.h"
#include "sluice/visit/watch/result.h"
#include "sluice/visit/watch/run.h"

#include <gtest/gtest.h>

#include <cmath>

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

/// Values of step i, for every step.
void log_all(measure::Marks& marks, measure::MarkedKind what, double (*value)(std::size_t)) {
  for (std::size_t i = 0; i < marks.steps.size(); ++i) {
    marks.steps[i].index = i;
    marks.values.push_back({what, i, value(i)});
  }
}

TEST(WatchedRun, ValuesAreThoseOfTheCountedSteps) {
  measure::Marks marks = marks_of(6);
  log_all(marks, measure::MarkedKind::tokens, [](std::size_t i) { return 100.0 + double(i); });
  for (const std::size_t i : {std::size_t{0}, std::size_t{3}, std::size_t{5}})
    marks.values.push_back({measure::MarkedKind::loss, i, 6.0 - double(i)});
  marks.values.push_back({measure::MarkedKind::samples, 3, 8});  // of one step alone
  marks.values.push_back({measure::MarkedKind::peak_bytes, 0, 4096});
  marks.framework = {.torch = "2.15.0", .cuda = "13.0", .python = ""};
  const measure::Run run = watched_run(marks, 2, 0);
  const Json& details = run.details.at(0);
  EXPECT_EQ(details["step_tokens"], Json({102.0, 103.0, 104.0, 105.0}));
  EXPECT_EQ(details["losses"], Json({3.0, 1.0}));
  EXPECT_EQ(details["loss_at"], Json({1, 3}));
  EXPECT_FALSE(details.contains("step_samples"));
  EXPECT_EQ(details["step_samples_missing"], 3);
  EXPECT_EQ(details["peak_bytes"], 4096.0);
  EXPECT_EQ(details["framework"], Json({{"torch", "2.15.0"}, {"cuda", "13.0"}}));
}

TEST(WatchedRun, TimesOfTheDeviceAreTheSamples) {
  measure::Marks marks = marks_of(5);
  log_all(marks, measure::MarkedKind::device_ns, [](std::size_t i) { return 70.0 + double(i); });
  marks.values.pop_back();  // the last was still on its way
  const measure::Run run = watched_run(marks, 1, 0);
  EXPECT_EQ(run.samples_ns, (std::vector<std::int64_t>{71, 72, 73}));
  const Json& details = run.details.at(0);
  EXPECT_EQ(details["step_clock"], "device");
  EXPECT_EQ(details["steps_without_device_time"], 1);
  EXPECT_EQ(details["host_step_ns"], Json({101, 102, 103}));
  EXPECT_EQ(details["phases_ns"]["forward"].size(), 3U);
}

TEST(WatchedRun, ALossThatIsNotFiniteIsNamed) {
  measure::Marks marks = marks_of(4);
  log_all(marks, measure::MarkedKind::loss, [](std::size_t i) { return i == 2 ? NAN : 1.0; });
  EXPECT_EQ(broken_loss(marks), "reported a loss that is not finite (nan) in step 3");
  EXPECT_EQ(broken_loss(marks_of(4)), "");
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

TEST(ConcludeWatch, WhatTheProgramReportsIsInTheMetrics) {
  measure::Marks marks = marks_of(20);
  log_all(marks, measure::MarkedKind::loss, [](std::size_t i) { return 5 - 0.25 * double(i); });
  log_all(marks, measure::MarkedKind::samples, [](std::size_t) { return 4.0; });
  log_all(marks, measure::MarkedKind::tokens, [](std::size_t) { return 512.0; });
  log_all(marks, measure::MarkedKind::flop, [](std::size_t) { return 1e6; });
  marks.values.push_back({measure::MarkedKind::peak_bytes, 0, 1 << 30});
  marks.framework.torch = "2.15.0+cu130";
  marks.framework.cuda = "13.0";
  results::ResultFile file = file_of(measure::RowStatus::ok);
  measure::Row& row = file.rows.front();
  row.runs = {watched_run(marks, 0, 0)};
  WatchPlan plan;
  plan.peak_tflops = 100;
  count_in_samples(row, plan);
  EXPECT_EQ(row.items_per_sample, 4);
  EXPECT_EQ(row.unit, "samples/s");
  measure::summarise(row, 0.1);
  conclude_watch(file, plan, {std::nullopt, "no GPU was asked for"});
  const Json metrics = results::to_json(*file.training);
  EXPECT_EQ(analysis::training_metrics_problems(metrics), std::vector<std::string>{});
  EXPECT_NEAR(metrics["loss"]["loss_slope"].get<double>(), -0.25, 1e-12);
  EXPECT_EQ(metrics["loss"]["final_loss"], 0.25);
  EXPECT_EQ(metrics["throughput"]["tokens_per_step"], 512);
  EXPECT_EQ(metrics["run_config"]["per_device_batch_size"], 4);
  EXPECT_EQ(metrics["run_config"]["seq_len"], 128);
  EXPECT_EQ(metrics["mfu"]["flop_per_step"], 1e6);
  const double step_s = metrics["timing"]["step_time_p50_s"].get<double>();
  EXPECT_NEAR(metrics["mfu"]["achieved_tflops_p50"].get<double>(), 1e6 / step_s / 1e12, 1e-9);
  EXPECT_NEAR(metrics["mfu"]["mfu_p50"].get<double>(), 1e6 / step_s / 1e14, 1e-5);
  EXPECT_EQ(metrics["memory"]["peak_allocated_bytes"], 1 << 30);
  EXPECT_EQ(metrics["env"]["torch_version"], "2.15.0+cu130");
  EXPECT_EQ(metrics["env"]["cuda_version"], "13.0");
}

TEST(ConcludeWatch, CountsThatVaryAreRatesOfTheirOwnSteps) {
  measure::Marks marks = marks_of(4);  // steps of 100, 101, 102, 103 ns
  log_all(marks, measure::MarkedKind::tokens, [](std::size_t i) { return 100.0 * double(1 + i); });
  log_all(marks, measure::MarkedKind::samples, [](std::size_t i) { return i == 3 ? 1.0 : 2.0; });
  results::ResultFile file = file_of(measure::RowStatus::ok);
  measure::Row& row = file.rows.front();
  row.runs = {watched_run(marks, 0, 0)};
  count_in_samples(row, {});
  EXPECT_EQ(row.items_per_sample, 1);
  EXPECT_EQ(row.unit, "steps/s");
  measure::summarise(row, 0.1);
  conclude_watch(file, {}, {std::nullopt, "no GPU was asked for"});
  const Json metrics = results::to_json(*file.training);
  EXPECT_NEAR(metrics["throughput"]["tokens_per_sec_p50"].get<double>(),
              (200 / 101e-9 + 300 / 102e-9) / 2, 1);
  EXPECT_EQ(metrics["throughput"]["tokens_per_step"], 250);
  EXPECT_EQ(metrics["run_config"]["per_device_batch_size"], 0);
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
