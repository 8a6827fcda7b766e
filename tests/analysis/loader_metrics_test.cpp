// tests/analysis/loader_metrics_test.cpp - every metric from made-up counts, and the rules above
// them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/loader_metrics.h"

#include "sluice/analysis/loader_verdict.h"

#include <gmock/gmock.h>

#include <set>
#include <unistd.h>

namespace sluice::analysis::loader_metrics_test {
namespace {

using ::testing::HasSubstr;

/// 10 batches of 64 in 2 s, by two workers that were busy 3.6 of 4 s.
Json details() {
  return Json{{"wall_ns", 2'000'000'000},
              {"batches", 10},
              {"samples", 640},
              {"workers", 2},
              {"waited_batches", 4},
              {"worker_busy_ns", 3'600'000'000},
              {"worker_wait_ns", 300'000'000},
              {"consumer_wait_ns", 500'000'000},
              {"stages",
               {{"read", {{"busy_ns", 600'000'000}, {"bytes", 64'000'000}}},
                {"decode", {{"busy_ns", 3'000'000'000}, {"bytes", 0}}}}},
              {"batch_ms", {{"mean", 200.0}, {"sd", 20.0}}},
              {"store",
               {{"hits", 30},
                {"misses", 10},
                {"evictions", 1},
                {"inner", {{"requests", 10}, {"bytes", 40'000'000}, {"retries", {{"io", 2}}}}}}},
              {"first_batch_ms", 80.0},
              {"rss_bytes", 1000},
              {"dataset_items", 6400},
              {"epoch_items", 640}};
}

measure::Row row_of(const Json& sample) {
  measure::Row row;
  measure::Run run;
  run.cpu_ns = 3'000'000'000;
  run.major_faults = 2;
  run.details = Json::array({sample});
  row.runs.push_back(run);
  return row;
}

LoaderFacts facts_of(const Json& sample) {
  LoaderFacts facts;
  facts.rate = 320;
  facts.steady = loader_use(row_of(sample));
  facts.first = facts.steady;
  facts.cores = 2;
  facts.no_gpu = "no driver";
  return facts;
}

TEST(LoaderMetricsTest, EachIsWhatItsDefinitionSays) {
  const LoaderFacts facts = facts_of(details());
  EXPECT_DOUBLE_EQ(*worker_efficiency(facts).value, 0.9);
  EXPECT_DOUBLE_EQ(*prefetch_efficiency(facts).value, 0.6);
  EXPECT_DOUBLE_EQ(*cache_hit_rate(facts).value, 0.75);
  EXPECT_DOUBLE_EQ(*download_mb_per_s(facts).value, 20);
  EXPECT_DOUBLE_EQ(*network_overhead(facts).value, 0.15);
  EXPECT_DOUBLE_EQ(*batch_time_cv(facts).value, 0.1);
  const results::LoaderMetrics all = loader_figures(facts);
  EXPECT_DOUBLE_EQ(*all.load_time_ms.value, 200);
  EXPECT_DOUBLE_EQ(*all.cpu_usage_percent.value, 75);
  EXPECT_NEAR(*all.worker_overhead.value, 0.1, 1e-12);
}

TEST(LoaderMetricsTest, WhatIsNotKnownIsNullWithAReason) {
  const LoaderFacts facts = facts_of(details());
  EXPECT_EQ(idle_vram(facts).reason, "no driver");
  EXPECT_THAT(parallel_download_efficiency(facts).reason, HasSubstr("one worker"));
  EXPECT_THAT(mmap_effectiveness(facts).reason, HasSubstr("map"));
  LoaderFacts nothing;
  nothing.no_gpu = "none";
  const results::LoaderMetrics all = loader_figures(nothing);
  for (const LoaderMetric& metric : loader_metrics()) {
    EXPECT_FALSE((all.*metric.figure).value) << metric.key();
    EXPECT_FALSE((all.*metric.figure).reason.empty()) << metric.key();
  }
}

TEST(LoaderMetricsTest, OneWorkerAndAMapMakeTheRestKnown) {
  Json sample = details();
  const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
  sample["store"] = Json{{"mapped_bytes", 8 * page}};
  EXPECT_DOUBLE_EQ(*mmap_effectiveness(facts_of(sample)).value, 0.75);
  LoaderFacts facts = facts_of(details());
  facts.one_worker_download_mb_s = 12.5;
  EXPECT_DOUBLE_EQ(*parallel_download_efficiency(facts).value, 0.8);
  facts.gpu = GpuUse{0.5, 30, 40};
  EXPECT_DOUBLE_EQ(*idle_vram(facts).value, 0.25);
}

TEST(LoaderMetricsTest, KeysAreDistinctAndExplained) {
  std::set<std::string> keys;
  for (const LoaderMetric& metric : loader_metrics()) {
    EXPECT_TRUE(keys.insert(metric.key()).second) << metric.key();
    EXPECT_GT(std::string(metric.definition).size(), 10U) << metric.key();
  }
}

TEST(LoaderMetricsTest, DetailsOfTheWrongKindAreNoCrash) {
  Json sample = details();
  for (const char* key : {"stages", "store", "batch_ms", "batches", "anonymous_by_epoch"}) {
    for (const Json& odd : {Json("text"), Json(nullptr), Json::array({1, "x"}), Json(-5)}) {
      Json changed = sample;
      changed[key] = odd;
      EXPECT_TRUE(loader_use(row_of(changed)).has_value());
    }
  }
  EXPECT_FALSE(loader_use(row_of(Json("none"))).has_value());
  EXPECT_FALSE(loader_use(measure::Row{}).has_value());
}

TEST(LoaderVerdictTest, TargetsCanBeSetAndLeftOut) {
  const LoaderFacts facts = facts_of(details());
  LoaderTargets targets;
  ASSERT_TRUE(set_target(targets, "rate=300"));
  EXPECT_EQ(loader_targets(facts, targets)[0].mark, Mark::good);  // 320
  ASSERT_TRUE(set_target(targets, "overhead=5%"));
  EXPECT_THAT(loader_targets(facts, targets)[2].target, HasSubstr("5 %"));
  ASSERT_TRUE(set_target(targets, "none"));
  EXPECT_TRUE(loader_targets(facts, targets).empty());
  ASSERT_TRUE(set_target(targets, "idle-vram=40"));
  ASSERT_EQ(loader_targets(facts, targets).size(), 1U);
  for (const char* bad : {"", "rate", "rate=", "rate=fast", "rate=-1", "overhead=101%", "speed=5",
                          "rate=5%", "overhead=nan"}) {
    const Status refused = set_target(targets, bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_THAT(refused.error().message, HasSubstr("rate=SAMPLES_PER_S")) << bad;
  }
}

TEST(LoaderVerdictTest, TargetsAreMetMissedOrUnknown) {
  LoaderFacts facts = facts_of(details());
  auto targets = loader_targets(facts);
  ASSERT_EQ(targets.size(), 4U);
  EXPECT_EQ(targets[0].mark, Mark::bad);      // 320 of 1000
  EXPECT_EQ(targets[1].mark, Mark::unknown);  // no GPU
  facts.rate = 1001;
  facts.gpu = GpuUse{0.95, 90, 100};
  targets = loader_targets(facts);
  EXPECT_EQ(targets[0].mark, Mark::good);
  // What a GPU does without a model is no verdict on the loader.
  for (const std::size_t of_the_gpu : {1U, 3U}) {
    EXPECT_EQ(targets[of_the_gpu].mark, Mark::unknown);
    EXPECT_THAT(targets[of_the_gpu].found, HasSubstr("no model runs here"));
  }
}

TEST(LoaderVerdictTest, TheLargestStageIsTheLimit) {
  const LoaderFacts facts = facts_of(details());
  double share = 0;
  EXPECT_EQ(limiting_stage(*facts.steady, &share), "decode");
  EXPECT_NEAR(share, 3.0 / 3.6, 1e-12);
  const auto findings = loader_findings(facts, {.workers = 2, .cores = 2}, std::nullopt, {});
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].diagnosis, "decode limits the loader");
  EXPECT_FALSE(findings[0].solutions.empty());
}

TEST(LoaderVerdictTest, FewSamplesAreSaid) {
  const LoaderFacts facts = facts_of(details());
  const auto said = [&](std::uint64_t items) {
    std::string all;
    for (const Finding& finding : loader_findings(
             facts, {.workers = 2, .cores = 2, .items = items, .batch = 8}, std::nullopt, {}))
      all += finding.diagnosis + "\n";
    return all;
  };
  EXPECT_THAT(said(31), HasSubstr("few samples"));
  EXPECT_THAT(said(32), ::testing::Not(HasSubstr("few samples")));
  EXPECT_THAT(said(0), ::testing::Not(HasSubstr("few samples")));
}

TEST(LoaderVerdictTest, RulesApplyWhenTheirEvidenceIsThere) {
  Json uneven = details();
  uneven["batch_ms"]["sd"] = 100.0;
  LoaderFacts facts = facts_of(uneven);
  facts.gpu = GpuUse{0.4, 1, 2};
  facts.memory_total_bytes = 100;
  facts.peak_rss_bytes = 95;
  std::string all;
  for (const Finding& finding :
       loader_findings(facts, {.workers = 2, .cores = 2}, std::nullopt, {})) {
    all += finding.diagnosis + "\n";
    EXPECT_FALSE(finding.evidence.empty());
    EXPECT_FALSE(finding.solutions.empty());
  }
  EXPECT_THAT(all, ::testing::Not(HasSubstr("GPU")));
  EXPECT_THAT(all, HasSubstr("variable batch times"));
  EXPECT_THAT(all, HasSubstr("memory is nearly full"));
}

TEST(LoaderVerdictTest, AnEpochIsItemsOverTheRate) {
  measure::Row row;
  EXPECT_FALSE(epoch_estimate(row, 100));
  row.summary = measure::Summary{};
  row.summary->mean = 50;
  row.summary->ci95 = measure::Interval{40, 60, "t", "run"};
  const auto seconds = epoch_estimate(row, 1200);
  ASSERT_TRUE(seconds);
  EXPECT_DOUBLE_EQ(seconds->point, 24);
  EXPECT_DOUBLE_EQ(seconds->low, 20);
  EXPECT_DOUBLE_EQ(seconds->high, 30);
}

TEST(LoaderIndicators, AllocationsAndCpuOutsideOfTheStages) {
  const auto mark = [](const Json& sample, const char* name) {
    for (const Check& check : loader_indicators(facts_of(sample), 0))
      if (check.name.find(name) != std::string::npos) return check.mark;
    ADD_FAILURE() << name;
    return Mark::unknown;
  };
  Json sample = details();
  EXPECT_EQ(mark(sample, "allocations"), Mark::unknown);
  sample["ring_slots"] = 4;
  sample["ring_bytes"] = 4000;    // batches of 1000
  sample["touched_bytes"] = 100;  // 10 a batch
  EXPECT_EQ(mark(sample, "allocations"), Mark::good);
  sample["touched_bytes"] = 10'000;
  EXPECT_EQ(mark(sample, "allocations"), Mark::bad);
  sample["store"] = Json{{"mapped_bytes", 5}};
  EXPECT_EQ(mark(sample, "allocations"), Mark::unknown) << "pages of a map count alike";
  EXPECT_EQ(mark(details(), "excessive CPU"), Mark::good);
  sample["worker_busy_ns"] = 1'000'000'000;  // of 3 s of CPU
  EXPECT_EQ(mark(sample, "excessive CPU"), Mark::bad);
}

}  // namespace
}  // namespace sluice::analysis::loader_metrics_test
