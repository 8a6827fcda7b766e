// tests/scenario/storage_read_test.cpp - the reads of `bench storage`: planned, checked, timed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/scenario/scenario.h"
#include "sluice/scenario/storage/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <set>

namespace sluice::scenario::storage_read_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::vector<storage::Object> objects_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<storage::Object> objects;
  for (const std::uint64_t size : sizes)
    objects.push_back({.key = "o" + std::to_string(objects.size()), .size = size});
  return objects;
}

TEST(PlanReadsTest, SequentialIsAllOfItInOrderInWholeMegabytes) {
  ReadPlan plan;
  const auto objects = objects_of({1'500'000, 10, 2'000'000});
  const auto reads = plan_reads(objects, plan);
  ASSERT_TRUE(reads);
  std::uint64_t total = 0;
  std::size_t object = 0;
  std::uint64_t at = 0;
  for (const ReadOperation& read : *reads) {
    if (read.object != object) {
      EXPECT_EQ(at, objects[object].size);
      EXPECT_EQ(read.object, object + 1);
      object = read.object;
      at = 0;
    }
    EXPECT_EQ(read.offset, at);
    EXPECT_LE(read.size, kSequentialRead);
    at += read.size;
    total += read.size;
  }
  EXPECT_EQ(total, 3'000'000U);
  plan.max_bytes = 1'999'999;
  EXPECT_EQ(plan_reads(objects, plan)->size(), 1U);
  EXPECT_THAT(plan_reads(objects_of({999'999}), ReadPlan{}).error().message,
              HasSubstr("less than 1 MB"));
}

TEST(PlanReadsTest, RandomReadsNoPlaceTwiceAndNonePastTheEnd) {
  ReadPlan plan;
  plan.pattern = ReadPattern::random;
  plan.size = 5000;
  plan.operations = 1000;
  const auto objects = objects_of({4999, 5000, 100'000, 8192 * 3});
  const auto reads = plan_reads(objects, plan);
  ASSERT_TRUE(reads);
  EXPECT_EQ(reads->size(), 1U + 12U + 3U);  // every place there is
  std::set<std::pair<std::size_t, std::uint64_t>> places;
  for (const ReadOperation& read : *reads) {
    EXPECT_TRUE(places.insert({read.object, read.offset}).second);
    EXPECT_EQ(read.offset % 4096, 0U);
    EXPECT_LE(read.offset + read.size, objects[read.object].size);
  }
  plan.operations = 7;
  EXPECT_EQ(plan_reads(objects, plan)->size(), 7U);
  plan.size = 200'000;
  EXPECT_THAT(plan_reads(objects, plan).error().message, HasSubstr("no object holds 200000 bytes"));
}

TEST(PlanReadsTest, GetTakesObjectsOfAClassUpToSoManyBytes) {
  ReadPlan plan;
  plan.pattern = ReadPattern::get;
  plan.smallest = 11;
  plan.largest = 20;
  const auto objects = objects_of({10, 11, 20, 21, 15});
  auto reads = plan_reads(objects, plan);
  ASSERT_TRUE(reads);
  std::set<std::size_t> taken;
  for (const ReadOperation& read : *reads)
    taken.insert(read.object);
  EXPECT_EQ(taken, (std::set<std::size_t>{1, 2, 4}));
  plan.max_bytes = 1;
  EXPECT_EQ(plan_reads(objects, plan)->size(), 1U);
  plan.smallest = 22;
  plan.largest = 30;
  EXPECT_FALSE(plan_reads(objects, plan));
}

class StorageReadTest : public ::testing::Test {
 protected:
  StorageReadTest() {
    for (int i = 0; i < 6; ++i) {
      std::string content(700'000, '\0');
      for (std::size_t k = 0; k < content.size(); ++k)
        content[k] = static_cast<char>((k * 2654435761U + static_cast<unsigned>(i)) >> 11U);
      EXPECT_TRUE(write_file_atomic(folder_ / ("f" + std::to_string(i)), content, Flush::later));
    }
  }
  Result<std::unique_ptr<measure::Subject>> make(const std::string& name, Json spec) const {
    measure::SubjectContext context;
    context.case_name = name;
    context.spec = std::move(spec);
    if (!context.spec.contains("input")) context.spec["input"] = folder_.path().string();
    return catalogue().scenarios.at(name)(context);
  }
  testing_support::TemporaryFolder folder_;
};

TEST_F(StorageReadTest, EveryPatternIsCheckedAndTimed) {
  for (const std::string mode : {"buffered", "mmap"}) {
    for (const std::string name : {"storage/sequential", "storage/random", "storage/get"}) {
      for (const bool cold : {true, false}) {
        SCOPED_TRACE(name + " " + mode);
        auto subject = make(name, Json{{"read_mode", mode}, {"cold", cold}, {"concurrency", 3}});
        ASSERT_TRUE(subject) << subject.error().message;
        const auto digest = (*subject)->check();
        ASSERT_TRUE(digest) << digest.error().message;
        (*subject)->run_items(0, 2);
        (*subject)->begin_sample();
        (*subject)->run_pass();
        const Json info = (*subject)->measured_info();
        const Json& latency = info.at("latency_us");
        EXPECT_GT(latency.at("p50").get<double>(), 0);
        EXPECT_LE(latency.at("p50"), latency.at("p99"));
        EXPECT_LE(latency.at("p99"), latency.at("max"));
        const std::string state = info.at("cache").at("state");
        EXPECT_TRUE(cold || state == "warm") << state;
        EXPECT_GT((*subject)->items_per_pass(), 0);
        EXPECT_GT((*subject)->bytes_per_item(), 0);
      }
    }
  }
}

TEST_F(StorageReadTest, ASecondPassOverColdFilesIsNotCalledCold) {
  auto subject = make("storage/get", Json::object());
  ASSERT_TRUE(subject);
  (*subject)->begin_sample();
  (*subject)->run_pass();
  (*subject)->run_pass();
  EXPECT_NE((*subject)->measured_info().at("cache").at("state"), "cold");
}

TEST_F(StorageReadTest, WhatIsWrongIsSaidInOneLine) {
  EXPECT_THAT(make("storage/get", Json{{"input", (folder_ / "nothing").string()}}).error().message,
              HasSubstr("nothing"));
  EXPECT_THAT(make("storage/get", Json{{"concurrency", 0}}).error().message,
              HasSubstr("concurrency 0"));
  EXPECT_THAT(make("storage/random", Json{{"size", 900'000}}).error().message,
              HasSubstr("no object holds 900000"));
  EXPECT_FALSE(make("storage/get", Json{{"read_mode", "telepathy"}}));
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(make("storage/get", Json{{"input", (folder_ / "empty").string()}}).error().message,
              HasSubstr("no object"));
}

TEST_F(StorageReadTest, AFileThatGoesAwayCostsThePass) {
  auto subject = make("storage/get", Json{{"cold", false}});
  ASSERT_TRUE(subject);
  ASSERT_TRUE((*subject)->check());
  fs::remove(folder_ / "f3");
  EXPECT_THROW((*subject)->run_pass(), std::exception);
}

}  // namespace
}  // namespace sluice::scenario::storage_read_test
