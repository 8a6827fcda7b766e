// tests/analysis/training_metrics_test.cpp - figures of a training step from made-up steps, and the
// rules above them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/training_metrics.h"

#include "sluice/analysis/batch_estimates.h"
#include "sluice/analysis/training_verdict.h"

#include <gmock/gmock.h>

#include <cmath>

namespace sluice::analysis::training_metrics_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::int64_t> ns(std::initializer_list<double> seconds) {
  std::vector<std::int64_t> list;
  for (const double value : seconds)
    list.push_back(static_cast<std::int64_t>(value * 1e9 + 0.5));
  return list;
}

/// Two turns of a run, as our worker tells of them.
measure::Run run_of(std::initializer_list<double> seconds) {
  measure::Run run;
  run.samples_ns = ns(seconds);
  const Json phases{
      {"data", {100'000'000, 100'000'000}},          {"transfer", {0, 0}},
      {"forward", {400'000'000, 300'000'000}},       {"loss", {50'000'000, 50'000'000}},
      {"backward", {500'000'000, 500'000'000}},      {"grad_sync", {0, 0}},
      {"optimizer_step", {200'000'000, 200'000'000}}};
  const Json turn{
      {"losses", {3.0, 2.5}},         {"gradient_norms", {1.5, 0.5}},
      {"phases_ns", phases},          {"phased_step_ns", {1'250'000'000, 1'150'000'000}},
      {"peak_bytes", 2048},           {"first_step_ns", 77},
      {"engine", {{"device", "cpu"}}}};
  run.details = Json::array({turn, turn});
  return run;
}

TrainingFacts facts_of(std::initializer_list<double> seconds) {
  measure::Row row;
  row.runs = {run_of(seconds)};
  TrainingFacts facts;
  facts.run_config =
      Json{{"mode", "synthetic"}, {"world_size", 1},        {"per_device_batch_size", 4},
           {"seq_len", 512},      {"global_batch_size", 8}, {"grad_accum_steps", 2},
           {"warmup_steps", 3},   {"measure_steps", 5},     {"repeat", 1},
           {"profile", "off"},    {"mfu_estimator", "6ND"}, {"dtype", "fp32"}};
  facts.machine_profile = "cpu";
  facts.env = Json::object();
  facts.timestamp = "2026-01-31T12:00:00Z";
  facts.use = *training_use(row);
  facts.samples_per_step = 8;
  facts.tokens_per_step = 8 * 512;
  facts.step_flop = 1e12;
  facts.peak_tflops = {std::nullopt, "give --peak-tflops N"};
  facts.no_gpu = "no GPU was asked for";
  return facts;
}

TEST(TrainingFormulas, TokensOfAStep) {
  EXPECT_EQ(tokens_per_step(4, 2, 512, 2), 8192);
  EXPECT_EQ(tokens_per_step(8, 1, 201, 1), 1608);
}

TEST(TrainingFormulas, LossSlope) {
  EXPECT_FALSE(loss_slope({}));
  EXPECT_FALSE(loss_slope(std::vector{1.0}));
  EXPECT_DOUBLE_EQ(*loss_slope(std::vector{3.0, 2.0, 1.0}), -1);
  EXPECT_DOUBLE_EQ(*loss_slope(std::vector{2.0, 2.0, 2.0}), 0);
  EXPECT_NEAR(*loss_slope(std::vector{1.0, 3.0, 2.0, 5.0}), 1.1, 1e-12);
}

TEST(TrainingFormulas, TheRunWithTheBestMedianIsKept) {
  EXPECT_EQ(best_of(std::vector{1.1, 1.0, 1.05}), 1u);
  measure::Row row;
  row.runs = {run_of({1.1, 1.1}), run_of({1.0, 1.0}), run_of({1.05, 9.0})};
  const auto use = training_use(row);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->best_run, 1u);
  EXPECT_THAT(use->medians_s, ElementsAre(1.1, 1.0, 5.025));
  EXPECT_THAT(use->step_s, ElementsAre(1.0, 1.0));
  EXPECT_FALSE(training_use(measure::Row{}));
}

TEST(TrainingFormulas, TimeWithoutACore) {
  const struct {
    int threads;
    double waited_s, cpu_s;  // of steps that took 2 s
    double share;
  } kCases[] = {
      {1, 0, 2.0, 0},      {1, 0.5, 1.5, 0.25}, {2, 0.2, 3.8, 0.05},  // one waits, one works
      {2, 2.4, 1.6, 0.6},                                             // both wait, at the same time
      {2, 0, 1.0, 0},  // idle, but not for want of a core
      {1, 9.0, 0.0, 0.99}, {1, 0.1, 2.1, 0},
  };
  for (const auto& one : kCases) {
    measure::Run run = run_of({1, 1});
    run.cpu_ns = static_cast<std::int64_t>(one.cpu_s * 1e9);
    run.details = Json::array(
        {Json{{"waited_ns", one.waited_s * 5e8}}, Json{{"waited_ns", one.waited_s * 5e8}}});
    measure::Row row;
    row.thread_policy.asked = one.threads;
    row.runs = {run};
    const auto share = training_use(row)->waited_share;
    ASSERT_TRUE(share);
    EXPECT_NEAR(*share, one.share, 1e-9) << one.waited_s << ' ' << one.cpu_s;
    row.runs[0].details[1].erase("waited_ns");
    EXPECT_FALSE(training_use(row)->waited_share);
  }
}

TEST(TrainingFormulas, MaxBatch) {
  const auto point = [](std::int64_t batch, double bytes) { return BatchPoint{batch, bytes, 1}; };
  // peak = 100 + 10 B; 85 % of 1000 leaves 750: 75 samples, but 4 x 16 were tried at most.
  const auto capped = max_batch(std::vector{point(8, 180), point(16, 260)}, 1000);
  ASSERT_TRUE(capped);
  EXPECT_EQ(capped->batch, 64);
  EXPECT_TRUE(capped->capped);
  EXPECT_DOUBLE_EQ(capped->fixed_bytes, 100);
  EXPECT_DOUBLE_EQ(capped->bytes_per_sample, 10);
  const auto within = max_batch(std::vector{point(8, 180), point(16, 260), point(32, 420)}, 1005);
  ASSERT_TRUE(within);
  EXPECT_EQ(within->batch, 75);
  EXPECT_FALSE(within->capped);
  EXPECT_EQ(max_batch(std::vector{point(8, 180), point(16, 260)}, 100)->batch, 1);
  // A line that would start below zero starts at zero.
  EXPECT_DOUBLE_EQ(max_batch(std::vector{point(10, 50), point(20, 150)}, 1000)->fixed_bytes, 0);
  EXPECT_FALSE(max_batch(std::vector{point(8, 180)}, 1000));
  EXPECT_FALSE(max_batch(std::vector{point(8, 180), point(8, 190)}, 1000));
  EXPECT_FALSE(max_batch(std::vector{point(8, 180), point(16, 180)}, 1000));
}

TEST(TrainingFormulas, CriticalBatch) {
  // rate = 100 B C / (C + B) with C = 64.
  const auto point = [](std::int64_t batch) {
    const auto size = static_cast<double>(batch);
    return BatchPoint{batch, 1, 100 * size * 64 / (64 + size)};
  };
  const auto found = critical_batch(std::vector{point(64), point(16), point(256)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->batch, 64);
  EXPECT_FALSE(found->exceeds_tested);
  EXPECT_THAT(found->scaling_efficiency, ElementsAre(std::pair<std::int64_t, double>(16, 1),
                                                     std::pair<std::int64_t, double>(64, 0.625),
                                                     std::pair<std::int64_t, double>(256, 0.25)));
  const auto linear = critical_batch(std::vector{BatchPoint{8, 1, 80}, BatchPoint{32, 1, 320}});
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->batch, 32);
  EXPECT_TRUE(linear->exceeds_tested);
  EXPECT_FALSE(critical_batch(std::vector{point(16)}));
  EXPECT_FALSE(critical_batch(std::vector{point(16), BatchPoint{32, 1, 0}}));
}

TEST(BestBatch, IsTheSmallestWithinTwoPercentOfTheBestRate) {
  const std::vector<BatchPoint> points{
      {8, 100, 500, 0.5}, {32, 200, 981, 0.9}, {64, 300, 1000, 0.95}, {128, 500, 990, 0.96}};
  const auto best = best_batch(points);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->batch, 32);
  EXPECT_EQ(best->fastest, 64);
  EXPECT_DOUBLE_EQ(best->of_best, 0.981);
  EXPECT_EQ(best->compute_use, 0.9);
  EXPECT_EQ(best->peak_bytes, 200);
  EXPECT_FALSE(best_batch({}));
  EXPECT_FALSE(best_batch(std::vector{BatchPoint{8, 1, 0}}));
}

Mark mark_of(const TrainingFacts& facts, const char* name) {
  for (const Check& check : training_indicators(facts))
    if (check.name.starts_with(name)) return check.mark;
  ADD_FAILURE() << name << " is no indicator";
  return Mark::unknown;
}

TEST(TrainingIndicators, ARateThatLastsAndMemoryThatStays) {
  TrainingFacts facts = facts_of({1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(mark_of(facts, "Sustained rate"), Mark::good);
  facts.use.step_s = {1, 1, 1, 1, 1.1, 1.1, 1.1, 1.1};
  EXPECT_EQ(mark_of(facts, "Sustained rate"), Mark::bad);
  facts.use.step_s = {1, 1};
  EXPECT_EQ(mark_of(facts, "Sustained rate"), Mark::unknown);
  EXPECT_EQ(mark_of(facts, "Stable memory"), Mark::unknown);
  facts.use.memory_by_step = {10, 50, 100, 100, 100, 100, 101, 101};
  EXPECT_EQ(mark_of(facts, "Stable memory"), Mark::good) << "the first steps are no growth";
  facts.use.memory_by_step = {100, 100, 100, 105, 110, 115, 120, 125};
  EXPECT_EQ(mark_of(facts, "Stable memory"), Mark::bad);
}

TEST(TrainingIndicators, AllocationsAndTheCores) {
  TrainingFacts facts = facts_of({1, 1, 1, 1});
  EXPECT_EQ(mark_of(facts, "Frequent allocations"), Mark::unknown);
  facts.use.rss_bytes = 1000;
  facts.use.touched_bytes = 4;  // 1 in a step
  EXPECT_EQ(mark_of(facts, "Frequent allocations"), Mark::good);
  facts.use.touched_bytes = 400;
  EXPECT_EQ(mark_of(facts, "Frequent allocations"), Mark::bad);
  EXPECT_EQ(mark_of(facts, "Excessive CPU"), Mark::unknown);
  facts.use.waited_share = 0.5;
  EXPECT_EQ(mark_of(facts, "Excessive CPU"), Mark::bad);
  facts.phases_by_device = true;  // cores feed a GPU: half of them at work are no fault
  facts.cores = 4;
  facts.use.cpu_s = 8;
  EXPECT_EQ(mark_of(facts, "Excessive CPU"), Mark::good);
  EXPECT_DOUBLE_EQ(*cpu_use(facts.use, 4).value, 0.5);
  facts.use.cpu_s = 15.9;
  EXPECT_EQ(mark_of(facts, "Excessive CPU"), Mark::bad);
}

/// Four batches in 2 s by two workers that read for 1 s each; half of the samples were cached.
Json fed(double bytes) {
  return Json{
      {"wall_ns", 2'000'000'000},
      {"batches", 4},
      {"workers", 2},
      {"stages", {{"read", {{"busy_ns", 2'000'000'000}, {"bytes", 1000}}}}},
      {"store", {{"hits", 10}, {"misses", 10}, {"inner", {{"requests", 10}, {"bytes", bytes}}}}}};
}

TEST(TrainingCloud, WhatTheLoaderOfARowDid) {
  measure::Row row;
  row.runs = {run_of({1, 1})};
  DownloadProbe probe{{30, ""}, {20, ""}};
  EXPECT_FALSE(training_cloud(row, probe)) << "no loader";
  Json warm = fed(0);
  warm["store"]["misses"] = 0;
  row.runs[0].details[0]["loader"] = Json{{"before", fed(50e6)}, {"timed", warm}};
  row.runs[0].details[1]["loader"] = Json{{"timed", warm}};
  const auto cloud = training_cloud(row, probe);
  ASSERT_TRUE(cloud);
  EXPECT_DOUBLE_EQ(*cloud->download_mb_per_s.value, 25);
  EXPECT_DOUBLE_EQ(*cloud->network_overhead.value, 0.5);
  EXPECT_DOUBLE_EQ(*cloud->cache_hit_rate.value, 0.5);
  EXPECT_DOUBLE_EQ(*cloud->warm_cache_hit_rate.value, 1);
  EXPECT_DOUBLE_EQ(*cloud->parallel_download_efficiency.value, 30.0 / (2 * 20));
  probe.one = {std::nullopt, "the server went away"};
  EXPECT_EQ(training_cloud(row, probe)->parallel_download_efficiency.reason,
            "the server went away");
}

Json training_metrics_json(const TrainingFacts& facts) {
  return results::to_json(training_metrics(facts));
}

TEST(TrainingMetrics, PercentilesAreThoseOfNumpy) {
  const Json metrics = training_metrics_json(facts_of({1, 1.1, 1.2, 1.3, 2.0}));
  const Json& timing = metrics.at("timing");
  EXPECT_NEAR(timing.at("step_time_p50_s").get<double>(), 1.2, 1e-9);
  EXPECT_NEAR(timing.at("step_time_p90_s").get<double>(), 1.72, 1e-9);
  EXPECT_NEAR(timing.at("step_time_mean_s").get<double>(), 1.32, 1e-9);
  EXPECT_NEAR(timing.at("step_time_min_s").get<double>(), 1, 1e-9);
  EXPECT_NEAR(timing.at("step_time_max_s").get<double>(), 2, 1e-9);
  // Over the rates of the steps, not of the mean step.
  const Json& rate = metrics.at("throughput");
  EXPECT_NEAR(rate.at("tokens_per_sec_p50").get<double>(), 4096 / 1.2, 1e-3);
  EXPECT_NEAR(rate.at("tokens_per_sec_p10").get<double>(),
              4096 / 2.0 + 0.4 * (4096 / 1.3 - 4096 / 2.0), 1e-3);
  EXPECT_EQ(rate.at("tokens_per_step"), 4096);
}

TEST(TrainingMetrics, HoldTheWholeSchema) {
  const Json metrics = training_metrics_json(facts_of({1.2, 1.2, 1.2, 1.2}));
  EXPECT_THAT(training_metrics_problems(metrics), IsEmpty());
  EXPECT_EQ(metrics.at("schema_version"), "1.0");
  for (const char* key : {"run_config", "throughput", "timing", "memory", "mfu", "loss", "env"}) {
    Json spoiled = metrics;
    spoiled.erase(key);
    EXPECT_FALSE(training_metrics_problems(spoiled).empty()) << key;
  }
  Json spoiled = metrics;
  spoiled["timing"]["step_time_p50_s"] = "1.2";
  EXPECT_THAT(training_metrics_problems(spoiled),
              ElementsAre("/timing/step_time_p50_s: is string"));
  spoiled = metrics;
  spoiled["schema_version"] = "2.0";
  EXPECT_THAT(training_metrics_problems(spoiled), ElementsAre(HasSubstr("expected 1.0")));
}

TEST(TrainingMetrics, WhatIsNotKnownIsNullWithAReason) {
  const Json metrics = training_metrics_json(facts_of({1.2, 1.2}));
  EXPECT_TRUE(metrics.at("mfu").at("mfu_p50").is_null());
  EXPECT_THAT(metrics.at("mfu").at("mfu_p50_reason").get<std::string>(),
              HasSubstr("--peak-tflops"));
  EXPECT_TRUE(metrics.at("utilization").at("compute").is_null());
  EXPECT_EQ(metrics.at("utilization").at("memory_bandwidth_reason"), "no GPU was asked for");
  EXPECT_EQ(metrics.at("memory").at("peak_allocated_bytes"), 2048);
  EXPECT_EQ(metrics.at("loss").at("loss_values").size(), 4u);
  EXPECT_EQ(metrics.at("loss").at("final_loss"), 2.5);
  EXPECT_EQ(metrics.at("gradient_norm").at("final"), 0.5);
}

TEST(TrainingMetrics, MfuOfEveryStep) {
  TrainingFacts facts = facts_of({1, 1, 1});
  facts.peak_tflops = {989 * 8, ""};
  facts.mfu = {0.2, 0.4, 0.9};
  const Json metrics = training_metrics_json(facts);
  EXPECT_DOUBLE_EQ(metrics.at("mfu").at("mfu_p50").get<double>(), 0.4);
  EXPECT_DOUBLE_EQ(metrics.at("mfu").at("mfu_mean").get<double>(), 0.5);
}

TEST(TrainingMetrics, FlopOfTheModelAndFlopExecutedAreToldApart) {
  TrainingFacts facts = facts_of({2, 2, 2});
  facts.peak_tflops = {2, ""};
  facts.step_flop = 4e12;
  facts.six_nd_flop = 5e12;
  facts.use.executed_flop = 3e12;
  const Json mfu = training_metrics_json(facts).at("mfu");
  EXPECT_EQ(mfu.at("estimator"), "shapes");
  EXPECT_DOUBLE_EQ(mfu.at("flop_per_step").get<double>(), 4e12);
  EXPECT_DOUBLE_EQ(mfu.at("achieved_tflops_p50").get<double>(), 2);
  EXPECT_DOUBLE_EQ(mfu.at("executed_flop_per_step").get<double>(), 3e12);
  EXPECT_DOUBLE_EQ(mfu.at("executed_tflops_p50").get<double>(), 1.5);
  EXPECT_DOUBLE_EQ(mfu.at("executed_p50").get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(mfu.at("flop_per_step_6nd").get<double>(), 5e12);
  EXPECT_DOUBLE_EQ(mfu.at("mfu_p50_6nd").get<double>(), 1.25);
  facts.use.executed_flop.reset();
  facts.peak_tflops = {std::nullopt, "give --peak-tflops N"};
  const Json unknown = training_metrics_json(facts).at("mfu");
  for (const char* key : {"executed_flop_per_step", "executed_p50", "mfu_p50_6nd"}) {
    EXPECT_TRUE(unknown.at(key).is_null()) << key;
    EXPECT_TRUE(unknown.contains(std::string(key) + "_reason")) << key;
  }
}

TEST(TrainingMetrics, PhasesAreThoseOfATypicalStepAndTheRestIsShown) {
  const Json fitting = training_metrics_json(facts_of({1.2, 1.2})).at("phases");
  EXPECT_DOUBLE_EQ(fitting.at("per_step").at("forward_s").get<double>(), 0.35);
  EXPECT_NEAR(fitting.at("sum_s").get<double>(), 1.2, 1e-12);
  EXPECT_EQ(fitting.at("steps"), 4);
  EXPECT_EQ(fitting.at("reconciled"), true);
  measure::Row row;
  row.runs = {run_of({1.0, 1.0})};
  Json& turn = row.runs[0].details[0];
  row.runs[0].details.erase(1);
  turn["phased_step_ns"] = {5'000'000'000, 1'000'000'000, 3'000'000'000};
  turn["phases_ns"] = Json{{"forward", {4'000'000'000, 900'000'000, 1'000'000'000}},
                           {"backward", {1'000'000'000, 100'000'000, 2'000'000'000}}};
  const auto use = training_use(row);
  ASSERT_EQ(use->phases.size(), 2u);
  EXPECT_DOUBLE_EQ(use->phases[0].seconds, 1) << "of the step of 3 s, neither first nor median";
  EXPECT_DOUBLE_EQ(use->phases[1].seconds, 2);
  const Json off = training_metrics_json(facts_of({1.3, 1.3})).at("phases");
  EXPECT_NEAR(off.at("residual_s").get<double>(), 0.1, 1e-9);
  EXPECT_NEAR(off.at("residual_share").get<double>(), 0.1 / 1.3, 1e-9);
  EXPECT_EQ(off.at("reconciled"), false);
  EXPECT_EQ(training_metrics_json(facts_of({1.22, 1.22})).at("phases").at("reconciled"), true);
  EXPECT_EQ(training_metrics_json(facts_of({1.17, 1.17})).at("phases").at("reconciled"), false)
      << "phases that add up to more than the step are no better";
}

TEST(TrainingMetrics, ALibraryThatTellsLittle) {
  measure::Row row;
  measure::Run run;
  run.samples_ns = ns({1.0, 1.0});
  run.details = Json::array({Json{{"loss", 4.0}}, Json{{"loss", 3.0}}});
  row.runs = {run};
  TrainingFacts facts = facts_of({1});
  facts.use = *training_use(row);
  const Json metrics = training_metrics_json(facts);
  EXPECT_THAT(training_metrics_problems(metrics), IsEmpty());
  EXPECT_EQ(metrics.at("loss").at("loss_slope"), -1);
  EXPECT_TRUE(metrics.at("phases").is_null());
  EXPECT_TRUE(metrics.at("memory").at("peak_allocated_bytes").is_null());
}

/// One run a block, of two steps each.
measure::Row row_of(std::initializer_list<double> step_s, int first_step, double last_loss,
                    double peak_bytes) {
  measure::Row row;
  row.items_per_sample = 8;
  for (const double seconds : step_s) {
    measure::Run run;
    run.block = static_cast<int>(row.runs.size());
    run.samples_ns = ns({seconds, seconds});
    run.details = Json::array({Json{{"loss", 3.0}, {"steps_before", first_step}},
                               Json{{"loss", last_loss}, {"steps_before", first_step + 1}}});
    run.details[0]["peak_bytes"] = peak_bytes;
    row.runs.push_back(run);
  }
  return row;
}

TEST(TrainingMetrics, MixedPrecisionBesideFp32) {
  const measure::Row plain = row_of({2}, 4, 2.0, 1000);
  measure::Row mixed = row_of({1}, 4, 2.25, 600);
  const auto amp = compare_amp(plain, mixed);
  ASSERT_TRUE(amp);
  EXPECT_DOUBLE_EQ(amp->speedup.point, 2);
  EXPECT_EQ(amp->speedup.confidence, 0) << "one pair has no interval";
  EXPECT_DOUBLE_EQ(amp->memory_saving, 0.4);
  EXPECT_DOUBLE_EQ(amp->loss_difference.value(), 0.25);
  // One step further on: its first loss is beside the other's last.
  EXPECT_DOUBLE_EQ(compare_amp(plain, row_of({1}, 5, 2.25, 600))->loss_difference.value(), 1);
  EXPECT_FALSE(compare_amp(plain, row_of({1}, 6, 2.25, 600))->loss_difference);
  mixed.runs[0].details = Json::array({Json{{"peak_bytes", 600}}});
  EXPECT_FALSE(compare_amp(plain, mixed));
}

TEST(TrainingMetrics, MixedPrecisionIsOfRunsInPairs) {
  // The machine is half as fast in the second block: twice as fast in each pair, 4 x best over
  // worst.
  const auto amp = compare_amp(row_of({2, 4}, 4, 2.0, 1000), row_of({1, 2}, 4, 2.25, 600));
  ASSERT_TRUE(amp);
  EXPECT_NEAR(amp->speedup.point, 2, 1e-9);
  // Best over best would be 2 / 0.5.
  const auto uneven =
      compare_amp(row_of({2, 2, 2}, 4, 2.0, 1000), row_of({1, 1, 0.5}, 4, 2.25, 600));
  ASSERT_TRUE(uneven);
  EXPECT_NEAR(uneven->speedup.point, std::cbrt(2.0 * 2.0 * 4.0), 1e-9);
  EXPECT_EQ(uneven->speedup.confidence, 0.95);
  EXPECT_LT(uneven->speedup.low, 2.0);
  EXPECT_GT(uneven->speedup.high, 4.0);
}

TEST(TrainingVerdict, TargetsAndIndicators) {
  const TrainingFacts facts = facts_of({1.2, 1.2});
  const auto targets = training_targets(facts, AmpComparison{{1.6, 1.5, 1.7}, 0.3, 0});
  ASSERT_EQ(targets.size(), 4u);
  EXPECT_EQ(targets[0].mark, Mark::bad) << "8 samples in 0.9 s";
  EXPECT_THAT(targets[0].found, HasSubstr("8.889"));
  EXPECT_EQ(targets[1].mark, Mark::unknown);
  EXPECT_EQ(targets[2].mark, Mark::good);
  EXPECT_EQ(targets[3].mark, Mark::bad);
  EXPECT_EQ(training_targets(facts, std::nullopt)[2].mark, Mark::unknown);
  EXPECT_EQ(training_indicators(facts)[1].mark, Mark::good);
  EXPECT_EQ(training_indicators(facts_of({1.3, 1.3}))[1].mark, Mark::bad);
}

TEST(TrainingVerdict, Advice) {
  struct Case {
    const char* words;
    void (*change)(TrainingFacts& facts, TrainingSetting& setting);
  };
  const std::vector<Case> cases{
      {"waits for data",
       [](TrainingFacts& facts, TrainingSetting& setting) {
         facts.use.phases[0].seconds = 0.5;
         setting.loads = true;
       }},
      {"--upload uint8",
       [](TrainingFacts& facts, TrainingSetting& setting) {
         facts.use.phases[1].seconds = 0.5;
         setting.cuda = true;
       }},
      {"vary by",
       [](TrainingFacts& facts, TrainingSetting&) {
         facts.use.step_s = {1, 1, 5};
       }},
      {"the GPU is busy 40 %",
       [](TrainingFacts& facts, TrainingSetting&) {
         facts.gpu = GpuUse{0.4, 9, 10};
       }},
      {"a larger --batch-size fits",
       [](TrainingFacts& facts, TrainingSetting&) {
         facts.gpu = GpuUse{0.9, 1, 10};
       }},
      {"the power limit (700 W) holds the GPU at 1650 of its 1980 MHz",
       [](TrainingFacts& facts, TrainingSetting&) {
         facts.gpu = GpuUse{1, 9, 10, 1650, 1980, 690, 700, 0.9};
       }},
      {"is little for a GPU",
       [](TrainingFacts&, TrainingSetting& setting) { setting.cuda = true; }},
      {"--sweep", [](TrainingFacts&, TrainingSetting&) {}},
      {"No significant bottlenecks",
       [](TrainingFacts& facts, TrainingSetting&) {
         facts.use.step_s = {0.05, 0.05};
       }},
  };
  for (const Case& one : cases) {
    TrainingFacts facts = facts_of({1.2, 1.2});
    TrainingSetting setting;
    one.change(facts, setting);
    EXPECT_THAT(training_recommendations(facts, setting),
                ::testing::Contains(HasSubstr(one.words)));
  }
}

}  // namespace
}  // namespace sluice::analysis::training_metrics_test
