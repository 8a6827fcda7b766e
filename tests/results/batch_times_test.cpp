// tests/results/batch_times_test.cpp - the file of batch times: round trip, dominants, damage.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/batch_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

namespace sluice::results::batch_times_test {
namespace {

using ::testing::HasSubstr;
using Counts = std::vector<std::pair<std::string, std::uint32_t>>;

const std::string kGood =
    R"({"idx":0,"dt_s":0.5,"fetch_dt_s":0.5,"materialize_dt_s":0,"is_warmup":false,)"
    R"("dominant_dataset":"a","dataset_counts":{"b":1,"a":3},"dominant_gap_batches":null})";

BatchTime batch(std::uint64_t idx, bool is_warmup, Counts counts) {
  BatchTime time;
  time.idx = idx;
  time.is_warmup = is_warmup;
  time.dataset_counts = std::move(counts);
  return time;
}

TEST(BatchTimesTest, TheFieldsOfALine) {
  const auto read = parse_batch_times(kGood + "\n", "f");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().dataset_counts, (Counts{{"b", 1}, {"a", 3}}));  // order kept
  EXPECT_EQ(batch_times_text(*read), kGood.substr(0, kGood.find("\"materialize_dt_s\":0")) +
                                         "\"materialize_dt_s\":0.0" +
                                         kGood.substr(kGood.find(",\"is_warmup\"")) + "\n");
}

TEST(BatchTimesTest, WhatIsWrittenIsRead) {
  std::mt19937_64 random(7);
  std::vector<BatchTime> written;
  for (std::uint64_t i = 0; i < 200; ++i) {
    BatchTime one = batch(3 * i, i < 20, {});
    for (const char* name : {"rt1", "kuka", "a \"quoted\" näme"})
      if (const auto count = static_cast<std::uint32_t>(random() % 4); count > 0)
        one.dataset_counts.emplace_back(name, count);
    one.fetch_dt_s = static_cast<double>(random() >> 11) * 1e-17;
    one.materialize_dt_s = static_cast<double>(random() >> 11) * 1e-19;
    one.dt_s = one.fetch_dt_s + one.materialize_dt_s;
    if (random() % 2 == 0) one.rss_bytes = random() >> 20;
    written.push_back(std::move(one));
  }
  mark_dominants(written);
  const auto path = std::filesystem::path(::testing::TempDir()) / "batch_times_test.jsonl";
  ASSERT_TRUE(write_batch_times(path, written));
  const auto read = read_batch_times(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, written);
  EXPECT_TRUE(parse_batch_times("", "none")->empty());
}

TEST(BatchTimesTest, TheFirstOfEqualCountsDominates) {
  std::vector<BatchTime> batches = {batch(0, false, {{"b", 2}, {"a", 2}, {"c", 1}}),
                                    batch(1, false, {{"c", 1}, {"a", 3}, {"b", 3}}),
                                    batch(2, false, {})};
  mark_dominants(batches);
  EXPECT_EQ(batches[0].dominant_dataset, "b");
  EXPECT_EQ(batches[1].dominant_dataset, "a");
  EXPECT_EQ(batches[2].dominant_dataset, "");  // without metadata nobody knows
}

TEST(BatchTimesTest, GapsCountMeasuredBatchesOnly) {
  std::vector<BatchTime> batches;
  const char* order[] = {"a", "a", "b", "a", "a", "", "b", "a"};
  for (std::uint64_t i = 0; i < 8; ++i)
    batches.push_back(batch(i, i < 2, *order[i] == '\0' ? Counts{} : Counts{{order[i], 4}}));
  batches[3].dominant_gap_batches = 99;  // whatever stood there
  mark_dominants(batches);
  using Gap = std::optional<std::uint64_t>;
  const Gap expected[] = {{}, {}, {}, {}, Gap(1), {}, Gap(4), Gap(3)};
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(batches[i].dominant_gap_batches, expected[i]) << i;
}

struct Damage {
  const char* what;
  const char* from;
  const char* to;
  const char* error;
};

class BatchTimesDamageTest : public ::testing::TestWithParam<Damage> {};

TEST_P(BatchTimesDamageTest, IsRefusedByLineNumber) {
  std::string second = kGood;
  second.replace(second.find("\"idx\":0"), 7, "\"idx\":1");
  const std::size_t at = second.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  second.replace(at, std::string(GetParam().from).size(), GetParam().to);
  const auto read = parse_batch_times(kGood + "\n" + second, "dir/b.jsonl");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::invalid_input);
  EXPECT_THAT(read.error().message, HasSubstr("dir/b.jsonl: line 2: "));
  EXPECT_THAT(read.error().message, HasSubstr(GetParam().error));
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, BatchTimesDamageTest,
    ::testing::Values(
        Damage{"cut", ",\"dominant_gap_batches\":null}", "", "not valid JSON"},
        Damage{"blank", kGood.c_str() + 8, "\n", "not valid JSON"},
        Damage{"missing", "\"dt_s\":0.5,", "", "dt_s"},
        Damage{"negative", "\"dt_s\":0.5", "\"dt_s\":-1", "must be at least 0, is -1"},
        Damage{"text", "\"dt_s\":0.5", "\"dt_s\":\"x\"", "must be a finite number"},
        Damage{"huge", "\"dt_s\":0.5", "\"dt_s\":1e999", ""},
        Damage{"repeated", "\"idx\":1", "\"idx\":0", "idx 0 after 0: must rise"},
        Damage{"counts", "{\"b\":1,\"a\":3}", "[]", "dataset_counts: must be an object"},
        Damage{"count", "\"b\":1", "\"b\":-1", "dataset_counts.b"},
        Damage{"nameless", "\"b\":1", "\"\":1", "without a name"},
        Damage{"stranger", "\"dominant_dataset\":\"a\"", "\"dominant_dataset\":\"z\"",
               "must be one of dataset_counts or null, is \"z\""},
        Damage{"gap", "\"dominant_gap_batches\":null", "\"dominant_gap_batches\":0",
               "at least 1 or null"},
        Damage{"memory", "\"is_warmup\"", "\"rss_bytes\":-5,\"is_warmup\"", "rss_bytes"},
        Damage{"list", "{\"idx\":1", "[{\"idx\":1", "not valid JSON"}),
    [](const auto& test) { return std::string(test.param.what); });

TEST(BatchTimesTest, AMissingFileIsNamed) {
  const auto read = read_batch_times("nowhere/batch_times.jsonl");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("nowhere/batch_times.jsonl"));
}

}  // namespace
}  // namespace sluice::results::batch_times_test
