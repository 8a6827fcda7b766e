// tests/train/profile_trace_test.cpp - profiles as plain data: sums, coverage, and both files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/json.h"
#include "sluice/train/profile/schedule.h"
#include "sluice/train/profile/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>

namespace sluice::train::profile_trace_test {
namespace {

constexpr std::int64_t kStart = 7'000'000'000'123;  // an uptime, in ns

/// 1000 ns of which 900 lie in regions and 500 in ops.
StepTrace small_step(std::int64_t start, int cycle, std::int64_t number) {
  StepTrace step;
  step.cycle = cycle;
  step.number = number;
  step.start_ns = start;
  step.end_ns = start + 1000;
  step.regions = {{Phase::data, start, start + 100},
                  {Phase::forward, start + 100, start + 400},
                  {Phase::backward, start + 400, start + 900}};
  step.ops = {{"block0.qkv", "GEMM", start + 100, start + 200},
              {"block1.qkv", "GEMM", start + 150, start + 300},  // two streams: they overlap
              {"block0.norm", "norm", start + 300, start + 400},
              {"block0.qkv", "attention", start + 400, start + 600}};  // same name, other work
  return step;
}

StepProfile small_profile() {
  StepProfile profile{"vit5-tiny", "cpu", "oneDNN", "fp32", 8, 2, {}, {}, {}};
  for (int i = 0; i < 4; ++i)
    profile.steps.push_back(small_step(kStart + i * 2000, i / 2, 2 + i));
  return profile;
}

TEST(StepTrace, BlocksAreOne) {
  EXPECT_EQ(without_block("block12.attention.backward"), "block*.attention.backward");
  EXPECT_EQ(without_block("block.x"), "block.x");
  EXPECT_EQ(without_block("head"), "head");
  EXPECT_EQ(without_block("block7"), "block*");
  EXPECT_EQ(without_block(""), "");
}

TEST(StepTrace, SumsSharesAndCoverage) {
  const ProfileSummary summary = summarise(small_profile());
  EXPECT_EQ(summary.steps, 4);
  EXPECT_DOUBLE_EQ(summary.step_ms, 1e-3);
  ASSERT_EQ(summary.ops.size(), 3U);
  EXPECT_EQ(summary.ops[0].name, "block*.qkv");  // 250 ns GEMM before 200 ns attention
  EXPECT_EQ(summary.ops[0].category, "GEMM");
  EXPECT_EQ(summary.ops[0].calls, 8);
  EXPECT_NEAR(summary.ops[0].total_ms, 1e-3, 1e-12);
  EXPECT_DOUBLE_EQ(summary.ops[0].share, 0.25);
  EXPECT_EQ(summary.ops[1].category, "attention");
  EXPECT_EQ(summary.ops[2].name, "block*.norm");
  ASSERT_EQ(summary.categories.size(), 3U);
  EXPECT_EQ(summary.categories[0].category, "GEMM");
  EXPECT_DOUBLE_EQ(summary.region_coverage, 0.9);
  EXPECT_DOUBLE_EQ(summary.op_coverage, 0.5);  // what overlaps counts once
  ASSERT_EQ(summary.phases.size(), kPhases.size());
  EXPECT_EQ(summary.phases[0].category, "data");
  EXPECT_DOUBLE_EQ(summary.phases[4].share, 0.5);  // backward
  EXPECT_EQ(summary.phases[5].calls, 0);           // no grad_sync
}

TEST(StepTrace, NothingIsNotANumber) {
  const ProfileSummary summary = summarise(StepProfile{});
  EXPECT_EQ(summary.steps, 0);
  EXPECT_EQ(summary.step_ms, 0);
  EXPECT_EQ(summary.op_coverage, 0);
}

Json parsed(const std::string& text) {
  auto json = parse_json(text, "trace");
  EXPECT_TRUE(json) << json.error().message;
  return json ? *json : Json();
}

TEST(ChromeTrace, HoldsStepsRegionsAndOps) {
  const Json json = parsed(chrome_trace(small_profile()));
  EXPECT_EQ(json.at("otherData").at("model"), "vit5-tiny");
  std::map<std::string, int> by_name;
  std::set<std::string> categories, threads;
  for (const Json& event : json.at("traceEvents")) {
    if (event["ph"] == "M") {
      if (event["name"] == "thread_name") threads.insert(event["args"]["name"]);
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    ++by_name[event["name"]];
    categories.insert(event["cat"]);
    EXPECT_GE(event["ts"].get<double>(), 0);
    EXPECT_LE(event["ts"].get<double>() + event["dur"].get<double>(), 7.0 + 1e-9);
  }
  EXPECT_EQ(threads, (std::set<std::string>{"steps", "regions", "ops on cpu"}));
  EXPECT_EQ(by_name["forward"], 4);
  EXPECT_EQ(by_name["block0.qkv"], 8);
  EXPECT_EQ(by_name["step 2"], 1);
  EXPECT_EQ(categories, (std::set<std::string>{"step", "region", "GEMM", "norm", "attention"}));
}

/// A copy that no op is known of, and two kernels of one op, before the small steps.
StepProfile device_profile() {
  StepProfile profile = small_profile();
  profile.device = "cuda:1 NVIDIA H200";
  DeviceRecord kernel, copy;
  kernel.name = "gelu_kernel";
  kernel.op = "block0.gelu";
  kernel.start_ns = kStart - 900;
  kernel.end_ns = kStart - 700;
  kernel.stream = 7;
  copy.work = DeviceWork::copy;
  copy.name = "copy host to device";
  copy.start_ns = kStart - 1000;
  copy.end_ns = kStart - 950;
  copy.stream = 7;
  copy.bytes = 4096;
  profile.device_steps = {{kStart - 1000, kStart - 600, {copy, kernel}}};
  return profile;
}

TEST(ChromeTrace, HoldsRowsOfADevice) {
  const StepProfile profile = device_profile();
  std::set<std::string> threads;
  int found = 0;
  const Json trace = parsed(chrome_trace(profile));
  for (const Json& event : trace.at("traceEvents")) {
    if (event["ph"] == "M") {
      if (event["name"] == "thread_name" && event["pid"] == 2)
        threads.insert(event["args"]["name"]);
      continue;
    }
    EXPECT_GE(event["ts"].get<double>(), 0);  // the device's pass came first
    if (event["name"] == "gelu_kernel") {
      ++found;
      EXPECT_EQ(event["pid"], 2);
      EXPECT_DOUBLE_EQ(event["ts"].get<double>(), 0.1);
      EXPECT_DOUBLE_EQ(event["dur"].get<double>(), 0.2);
      EXPECT_EQ(event["cat"], "activation");
      EXPECT_EQ(event["args"]["op"], "block0.gelu");
    }
    if (event["name"] == "copy host to device") {
      ++found;
      EXPECT_EQ(event["args"]["bytes"], 4096);
    }
  }
  EXPECT_EQ(found, 2);
  EXPECT_EQ(threads, (std::set<std::string>{"steps", "kernels of stream 7", "copies of stream 7"}));
}

TEST(KinetoKernels, BelongToTheOpsThatLaunchedThem) {
  StepProfile profile = device_profile();
  DeviceRecord second = profile.device_steps[0].records[1];
  second.name = "add_partials_kernel";
  second.start_ns = kStart - 690;
  second.end_ns = kStart - 650;
  profile.device_steps[0].records.push_back(second);
  const Json trace = parsed(kineto_kernels(profile));
  EXPECT_EQ(trace.at("deviceProperties").at(1).at("name"), "NVIDIA H200");
  std::map<std::int64_t, std::string> owners, launches;  // by external id, by correlation
  std::map<std::string, std::string> found;
  for (const Json& event : trace.at("traceEvents")) {
    if (event["ph"] != "X") continue;
    const Json& args = event["args"];
    const auto id = args["External id"].get<std::int64_t>();
    const std::string cat = event["cat"], name = event["name"];
    if (cat == "user_annotation" || cat == "cpu_op") {
      EXPECT_TRUE(owners.emplace(id, name).second);
      EXPECT_NE(event["pid"], 1);  // the device's number is its process
    } else if (cat == "Runtime") {
      EXPECT_EQ(event["dur"], 0);
      launches[args["correlation"].get<std::int64_t>()] = owners.at(id);
    } else {
      EXPECT_EQ(event["pid"], 1);
      EXPECT_EQ(event["tid"], 7);
      EXPECT_EQ(args["device"], 1);
      EXPECT_EQ(owners.at(id), launches.at(args["correlation"].get<std::int64_t>()));
      found[name] = cat + " of " + owners.at(id);
    }
  }
  EXPECT_EQ(found, (std::map<std::string, std::string>{
                       {"copy host to device", "gpu_memcpy of ProfilerStep#0"},
                       {"gelu_kernel", "kernel of block0.gelu"},
                       {"add_partials_kernel", "kernel of block0.gelu"}}));
  EXPECT_EQ(launches.size(), 2U);
}

TEST(KinetoTrace, HoldsOneCycle) {
  const Json json = parsed(kineto_trace(small_profile(), 1));
  EXPECT_EQ(json.at("schemaVersion"), 1);
  EXPECT_TRUE(json.at("deviceProperties").is_array());
  std::vector<std::string> steps;
  std::set<std::int64_t> ids;
  int regions = 0;
  for (const Json& event : json.at("traceEvents")) {
    if (event["ph"] != "X") continue;
    const std::string name = event["name"];
    if (event["cat"] == "user_annotation") steps.push_back(name);
    if (event["args"].value("Category", "") == "region") ++regions;
    EXPECT_TRUE(ids.insert(event["args"]["External id"].get<std::int64_t>()).second);
  }
  EXPECT_EQ(steps, (std::vector<std::string>{"ProfilerStep#4", "ProfilerStep#5"}));
  EXPECT_EQ(regions, 2 * (3 + 1));  // and the name the plugin knows data by
}

/// What lies inside something else in nanoseconds lies inside it as the plugin adds it up.
TEST(KinetoTrace, NestedStaysNested) {
  std::mt19937_64 random(7);
  StepProfile profile;
  std::int64_t at = kStart;
  for (int i = 0; i < 200; ++i) {
    StepTrace step;
    step.start_ns = at;
    step.number = i;
    step.regions.push_back({Phase::forward, at, at});
    for (int o = 0; o < 20; ++o) {
      const std::int64_t start = at;
      at += static_cast<std::int64_t>(random() % 700);
      step.ops.push_back({"op", "GEMM", start, at});
    }
    step.regions[0].end_ns = step.end_ns = at;
    at += static_cast<std::int64_t>(random() % 3);
    profile.steps.push_back(step);
  }
  double step_start = 0, step_end = 0, last_end = 0;
  int ops = 0;
  const Json json = parsed(kineto_trace(profile, 0));
  for (const Json& event : json.at("traceEvents")) {
    if (event["ph"] != "X") continue;
    const auto start = event["ts"].get<double>();
    const double end = start + event["dur"].get<double>();
    if (event["cat"] == "user_annotation") {
      ASSERT_GE(start, step_end);
      last_end = step_start = start;
      step_end = end;
    } else if (event["name"] == "op") {
      ASSERT_GE(start, last_end);
      ASSERT_LE(end, step_end);
      last_end = end;
      ++ops;
    } else {
      ASSERT_EQ(start, step_start);
      ASSERT_EQ(end, step_end);
    }
  }
  EXPECT_EQ(ops, 200 * 20);
}

TEST(ProfileSchedule, RefusesWhatCannotBe) {
  EXPECT_TRUE(check_schedule({}));
  EXPECT_EQ(ProfileSchedule{}.steps(), 10);
  EXPECT_TRUE(check_schedule({0, 0, 3, 1}));
  for (const ProfileSchedule bad :
       {ProfileSchedule{-1, 1, 1, 1}, ProfileSchedule{1, -1, 1, 1}, ProfileSchedule{1, 1, 0, 1},
        ProfileSchedule{1, 1, 1, 0}, ProfileSchedule{1'000'000'000, 1, 2'000'000'000, 2}}) {
    const Status status = check_schedule(bad);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::usage);
  }
}

}  // namespace
}  // namespace sluice::train::profile_trace_test
