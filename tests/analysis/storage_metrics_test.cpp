// tests/analysis/storage_metrics_test.cpp - rows of `bench storage` summed up.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/storage_metrics.h"

#include "sluice/measure/summary.h"
#include "sluice/results/result_file.h"

#include <gtest/gtest.h>

namespace sluice::analysis::storage_metrics_test {
namespace {

Json written(const StorageLine& line) {
  results::ResultFile file;
  file.storage = results::StorageMetrics{{line}};
  return results::to_json(file)["summary"]["storage"][0];
}

Json sample(double p50, double p99, double max, const char* state, double share) {
  return Json{{"latency_us", Json{{"p50", p50}, {"p90", p50 * 2}, {"p99", p99}, {"max", max}}},
              {"cache", Json{{"state", state}, {"resident_share", share}}}};
}

measure::Row row(const std::string& name, std::map<std::string, std::string> params) {
  measure::Row made;
  made.case_name = name;
  made.params = std::move(params);
  made.items_per_sample = 100;
  made.bytes_per_item = 4096;
  for (int i = 0; i < 3; ++i) {
    measure::Run run;
    run.block = i;
    run.samples_ns = {10'000'000, 10'000'000};
    run.details =
        Json::array({sample(50, 400, 900 + i, "cold", 0.0), sample(70, 600, 800, "cold", 0.004)});
    made.runs.push_back(run);
  }
  measure::summarise(made, 0.15);
  return made;
}

TEST(StorageMetricsTest, RatesLatenciesAndCacheState) {
  const auto lines = storage_lines(
      {row("storage/random/cache=cold/concurrency=4/mode=mmap/size=4096",
           {{"cache", "cold"}, {"concurrency", "4"}, {"mode", "mmap"}, {"size", "4096"}})});
  ASSERT_EQ(lines.size(), 1U);
  const StorageLine& line = lines.front();
  EXPECT_EQ(line.pattern, "random");
  EXPECT_EQ(line.mode, "mmap");
  EXPECT_EQ(line.concurrency, 4);
  EXPECT_EQ(line.size, 4096U);
  EXPECT_EQ(line.cache, "cold");
  ASSERT_TRUE(line.resident_share && line.rate && line.mb_per_s && line.latency_us);
  EXPECT_DOUBLE_EQ(*line.resident_share, 0.004);
  EXPECT_NEAR(line.rate->point, 10'000, 1e-6);
  EXPECT_NEAR(line.mb_per_s->point, 40.96, 1e-9);
  EXPECT_NEAR(line.latency_us->p50.point, 60, 1e-9);  // between the two samples of a run
  EXPECT_NEAR(line.latency_us->p99.point, 500, 1e-9);
  EXPECT_DOUBLE_EQ(line.latency_us->max, 902);
  const Json json = written(line);
  EXPECT_EQ(json.at("status"), "ok");
  EXPECT_EQ(json.at("cache"), "cold");
  EXPECT_NEAR(json.at("mb_per_s").at("low").get<double>(), 40.96, 1e-9);
}

TEST(StorageMetricsTest, SamplesThatDifferAreMixed) {
  measure::Row one =
      row("storage/get/concurrency=1/size=100", {{"concurrency", "1"}, {"size", "100"}});
  one.runs[1].details[0]["cache"]["state"] = "unknown";
  const auto lines = storage_lines({one});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines.front().cache, "mixed");
  EXPECT_EQ(lines.front().mode, "remote");
}

TEST(StorageMetricsTest, RowsWithoutRunsSayWhy) {
  measure::Row none;
  none.case_name = "storage/sequential/mode=direct";
  none.params = {{"mode", "direct"}};
  none.status = measure::RowStatus::unsupported;
  none.reason = "no O_DIRECT";
  measure::Row other;
  other.case_name = "decode/jpeg";
  const auto lines = storage_lines({none, other});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines.front().reason, "no O_DIRECT");
  EXPECT_FALSE(lines.front().rate);
  EXPECT_EQ(written(lines.front()).at("per_s"), Json());
}

TEST(StorageMetricsTest, ReadsTheirSizesAndWhatCameFromMemory) {
  measure::Row one =
      row("storage/get/concurrency=1/mode=buffered/size=131072", {{"size", "131072"}});
  for (measure::Run& run : one.runs) {
    for (Json& detail : run.details) {
      detail["reads"] = 64 - run.block;
      detail["smallest"] = 1000 + run.block;
      detail["largest"] = 2000 + run.block;
      detail["memory_share"] = 0.1 * run.block;
    }
  }
  const auto lines = storage_lines({one});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].reads, 62U);  // the fewest
  EXPECT_EQ(lines[0].smallest, 1000U);
  EXPECT_EQ(lines[0].largest, 2002U);
  EXPECT_DOUBLE_EQ(lines[0].memory_share.value(), 0.2);  // the largest
  EXPECT_EQ(written(lines[0])["memory_share"], 0.2);
}

}  // namespace
}  // namespace sluice::analysis::storage_metrics_test
