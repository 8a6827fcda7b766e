// tests/report/benchmark_json_test.cpp - the fields that other benchmark tools look for.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/benchmark_json.h"

#include "sluice/measure/summary.h"

#include <gtest/gtest.h>

#include "tests/results/fixtures.h"

namespace sluice::report::benchmark_json_test {
namespace {

Json parsed(const std::string& text) {
  const auto json = parse_json(text, "export");
  EXPECT_TRUE(json) << text.substr(0, 200);
  return json ? *json : Json();
}

/// Three runs, 10 items per sample, 1 ms, 2 ms and 3 ms per sample.
results::ResultFile simple() {
  results::ResultFile file;
  file.machine_profile = "cpu";
  measure::Row row;
  row.case_name = "decode/jpeg";
  row.items_per_sample = 10;
  row.bytes_per_item = 100;
  for (const std::int64_t ns : {1'000'000, 2'000'000, 3'000'000}) {
    measure::Run run;
    run.samples_ns = {ns, ns};
    run.cpu_ns = ns;
    row.runs.push_back(run);
  }
  measure::summarise(row, 0.1);
  file.rows.push_back(row);
  row.status = measure::RowStatus::failed;
  row.summary.reset();
  file.rows.push_back(row);
  return file;
}

TEST(GoogleBenchmark, ARepetitionPerRunAndFourAggregates) {
  const Json json = parsed(google_benchmark_json({simple()}));
  EXPECT_TRUE(json["context"]["num_cpus"].is_number());
  EXPECT_TRUE(json["context"]["caches"].is_array());
  const Json& list = json["benchmarks"];
  ASSERT_EQ(list.size(), 7U);
  EXPECT_EQ(list[1]["name"], "decode/jpeg in sluice");
  EXPECT_EQ(list[1]["run_type"], "iteration");
  EXPECT_EQ(list[1]["repetition_index"], 1);
  EXPECT_EQ(list[1]["repetitions"], 3);
  EXPECT_EQ(list[1]["iterations"], 2);
  EXPECT_EQ(list[1]["real_time"], 2e6);
  EXPECT_EQ(list[1]["cpu_time"], 1e6);
  EXPECT_EQ(list[1]["time_unit"], "ns");
  EXPECT_EQ(list[1]["items_per_second"], 5000);
  EXPECT_EQ(list[1]["bytes_per_second"], 500'000);
  const char* names[] = {"mean", "median", "stddev", "cv"};
  const double values[] = {2e6, 2e6, 1e6, 0.5};
  for (std::size_t i = 0; i < 4; ++i) {
    const Json& one = list[3 + i];
    EXPECT_EQ(one["run_type"], "aggregate");
    EXPECT_EQ(one["aggregate_name"], names[i]);
    EXPECT_EQ(one["run_name"], "decode/jpeg in sluice");
    EXPECT_EQ(one["name"], std::string("decode/jpeg in sluice_") + names[i]);
    EXPECT_DOUBLE_EQ(one["real_time"].get<double>(), values[i]);
  }
}

TEST(Bencher, ValueBetweenItsEnds) {
  const Json json = parsed(bencher_json({simple()}));
  ASSERT_EQ(json.size(), 1U);
  const Json& one = json["decode/jpeg in sluice"];
  EXPECT_EQ(one["throughput"]["value"], 5000);
  EXPECT_DOUBLE_EQ(one["latency"]["value"].get<double>(), 200'000);
  for (const char* measure : {"throughput", "latency"}) {
    EXPECT_LT(one[measure]["lower_value"], one[measure]["value"]);
    EXPECT_GT(one[measure]["upper_value"], one[measure]["value"]);
  }
}

TEST(GithubActionBenchmark, SmallerIsBetter) {
  const Json json = parsed(github_action_benchmark_json({simple()}));
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["name"], "decode/jpeg in sluice");
  EXPECT_EQ(json[0]["unit"], "ns/img");
  EXPECT_DOUBLE_EQ(json[0]["value"].get<double>(), 200'000);
  EXPECT_TRUE(json[0]["range"].is_string());
  EXPECT_EQ(json[0]["extra"], "5000 img/s, 3 runs");
}

TEST(BenchmarkJson, EveryFixtureIsJson) {
  for (const auto& [name, file] : fixtures::all()) {
    std::size_t measured = 0;
    for (const measure::Row& row : file.rows)
      measured += row.summary && row.summary->median > 0 ? 1 : 0;
    EXPECT_EQ(parsed(github_action_benchmark_json({file})).size(), measured) << name;
    EXPECT_LE(parsed(bencher_json({file})).size(), measured) << name;
    std::size_t medians = 0;
    const Json google = parsed(google_benchmark_json({file}));
    for (const Json& one : google["benchmarks"])
      medians += one.value("aggregate_name", "") == "median" ? 1 : 0;
    EXPECT_GE(medians + (name == "hostile" ? 1 : 0), measured) << name;  // one has no runs
  }
  EXPECT_EQ(bencher_json({}), "{}\n");
}

}  // namespace
}  // namespace sluice::report::benchmark_json_test
