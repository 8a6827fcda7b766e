// tests/results/result_file_test.cpp - what is written is read back; what is broken is named in one
// line.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/result_file.h"

#include "sluice/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/fixtures.h"
#include <cmath>
#include <functional>
#include <string>

namespace sluice::results::result_file_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ResultFileTest, WrittenFilesReadBackTheSame) {
  const fixtures::TemporaryFolder folder("result-file");
  for (const auto& [name, file] : fixtures::all()) {
    const auto path = folder.path() / "deep" / (name + ".json");
    ASSERT_TRUE(write(path, file)) << name;
    const auto back = read(path);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(to_text(to_json(*back)), to_text(to_json(file))) << name;
    EXPECT_EQ(back->rows.size(), file.rows.size());
    EXPECT_EQ(back->block_order_seed, file.block_order_seed);
  }
}

TEST(ResultFileTest, KeepsEveryField) {
  const auto file = fixtures::peers();
  const auto back = results::from_json(to_json(file), "x");
  ASSERT_TRUE(back) << back.error().message;
  const auto& was = file.rows.front();
  const auto& is = back->rows.front();
  EXPECT_EQ(is.runs[2].samples_ns, was.runs[2].samples_ns);
  EXPECT_EQ(is.runs[2].counters.reason, was.runs[2].counters.reason);
  EXPECT_EQ(is.summary->median, was.summary->median);
  EXPECT_EQ(is.summary->ci95->method, was.summary->ci95->method);
  EXPECT_EQ(is.peak_rss_bytes, was.peak_rss_bytes);
  EXPECT_EQ(is.output_digest, was.output_digest);
  EXPECT_EQ(back->rows.back().runs[0].counters.value->cycles, 9'000'000'000'000'000'000ULL);
  EXPECT_EQ(back->rows[3].better, measure::Better::lower);
  EXPECT_EQ(back->extra, file.extra);
  EXPECT_EQ(back->environment, file.environment);
}

TEST(ResultFileTest, UsesTheFieldNamesOfTheSchema) {
  const Json row = to_json(fixtures::quick())["rows"][0];
  std::vector<std::string> keys;
  for (const auto& [key, value] : row.items())
    keys.push_back(key);
  const std::vector<std::string> expected = {"case",
                                             "params",
                                             "library",
                                             "library_version",
                                             "thread_policy",
                                             "status",
                                             "reason",
                                             "unit",
                                             "better",
                                             "items_per_sample",
                                             "bytes_per_item",
                                             "runs",
                                             "median",
                                             "mean",
                                             "sd",
                                             "cv",
                                             "p10",
                                             "p50",
                                             "p90",
                                             "p99",
                                             "ci95",
                                             "n_runs",
                                             "n_samples",
                                             "unstable",
                                             "peak_rss_bytes",
                                             "gpu_memory",
                                             "gpu_memory_reason",
                                             "output_digest"};
  EXPECT_EQ(keys, expected);
  EXPECT_TRUE(row["runs"][0]["samples_ns"][0].is_number_integer());
}

TEST(ResultFileTest, NotMeasuredIsNullWithAReason) {
  const Json json = to_json(fixtures::peers());
  const Json& unsupported = json["rows"][8];
  EXPECT_TRUE(unsupported["median"].is_null());
  EXPECT_TRUE(unsupported["unstable"].is_null());
  EXPECT_EQ(unsupported["n_samples"], 0);
  EXPECT_EQ(unsupported["peak_rss_bytes_reason"], "not sampled");
  EXPECT_TRUE(unsupported["items_per_sample"].is_null());
  const Json& single = json["rows"].back();
  EXPECT_TRUE(single["ci95"].is_null());
  EXPECT_EQ(single["ci95_reason"], "too few samples for an interval");
  EXPECT_TRUE(to_json(fixtures::empty())["dataset"].is_null());
}

TEST(ResultFileTest, NumbersThatAreNotFiniteBecomeNull) {
  auto file = fixtures::quick();
  file.rows[0].summary->cv = std::nan("");
  file.rows[1].summary->ci95->high = HUGE_VAL;
  const auto json = to_json(file);
  EXPECT_EQ(json["rows"][0]["cv_reason"], "the value is not finite");
  const auto back = results::from_json(json, "x");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(std::isnan(back->rows[0].summary->cv));
  EXPECT_FALSE(back->rows[1].summary->ci95);
}

TEST(ResultFileTest, SamplesOfARunStandOnOneLine) {
  const std::string text = to_text(to_json(fixtures::quick()));
  EXPECT_THAT(text, HasSubstr("\"samples_ns\": ["));
  EXPECT_THAT(text, Not(HasSubstr("\"samples_ns\": [\n")));
  EXPECT_EQ(text.back(), '\n');
}

struct Breakage {
  const char* what;
  std::function<void(Json&)> apply;
  const char* expected;
};

const Breakage kBreakages[] = {
    {"newer", [](Json& j) { j["schema_version"] = 7; },
     "bad.json: schema_version 7 is newer than 1, which this program reads; use a newer sluice"},
    {"older", [](Json& j) { j["schema_version"] = 0; }, "schema_version 0 does not exist"},
    {"no version", [](Json& j) { j.erase("schema_version"); },
     "bad.json: schema_version: is missing"},
    {"version type", [](Json& j) { j["schema_version"] = "1"; },
     "schema_version: must be an integer from 0"},
    {"not an object", [](Json& j) { j = Json::array(); },
     "bad.json: must be an object, is an array"},
    {"missing", [](Json& j) { j["rows"][1].erase("unit"); }, "bad.json: rows[1].unit: is missing"},
    {"string", [](Json& j) { j["rows"][1]["case"] = 3; }, "rows[1].case: must be a string, is 3"},
    {"fraction", [](Json& j) { j["rows"][0]["runs"][1]["samples_ns"][2] = 1.5; },
     "rows[0].runs[1].samples_ns[2]: must be an integer from 0 to 9223372036854775807, is 1.5"},
    {"negative", [](Json& j) { j["rows"][0]["runs"][1]["samples_ns"][2] = -4; }, "is -4"},
    {"too large", [](Json& j) { j["rows"][0]["runs"][0]["block"] = 3'000'000'000; },
     "rows[0].runs[0].block: must be an integer from 0 to 2147483647, is 3000000000"},
    {"uint64", [](Json& j) { j["rows"][0]["runs"][0]["cpu_ns"] = 18446744073709551615ULL; },
     "rows[0].runs[0].cpu_ns: must be an integer from 0 to 9223372036854775807"},
    {"status", [](Json& j) { j["rows"][0]["status"] = "fine"; },
     "rows[0].status: must be one of ok, early_stopped, unsupported, failed, skipped, is \"fine\""},
    {"better", [](Json& j) { j["rows"][0]["better"] = nullptr; },
     "rows[0].better: must be one of higher, lower"},
    {"no reason", [](Json& j) { j["rows"][0]["runs"][0].erase("counters_reason"); },
     "rows[0].runs[0].counters: is null, which needs counters_reason to say why"},
    {"interval", [](Json& j) { j["rows"][0]["ci95"]["low"] = 1e9; },
     "rows[0].ci95: low 1000000000 is above high"},
    {"over", [](Json& j) { j["rows"][0]["ci95"]["over"] = "day"; },
     "rows[0].ci95.over: must be one of run, block, iteration, is \"day\""},
    {"params", [](Json& j) { j["rows"][0]["params"]["threads"] = 1; },
     "rows[0].params.threads: must be a string"},
    {"rows", [](Json& j) { j["rows"] = Json::object(); },
     "bad.json: rows: must be an array, is an object"},
    {"argv", [](Json& j) { j["argv"][1] = false; }, "argv[1]: must be a string, is false"},
    {"environment", [](Json& j) { j["environment"] = nullptr; },
     "environment: must be an object, is null"},
    {"canary", [](Json& j) { j["canary"][0]["unit"] = 1; }, "canary[0].unit: must be a string"},
    {"hostile", [](Json& j) { j["rows"][0]["params"]["a\nb"] = Json::array(); },
     "rows[0].params.a\\nb: must be"},
};

TEST(ResultFileTest, BrokenDocumentsAreNamedByKey) {
  for (const auto& breakage : kBreakages) {
    Json json = to_json(fixtures::quick());
    breakage.apply(json);
    const auto result = results::from_json(json, "bad.json");
    ASSERT_FALSE(result) << breakage.what;
    EXPECT_THAT(result.error().message, HasSubstr(breakage.expected)) << breakage.what;
    EXPECT_THAT(result.error().message, Not(HasSubstr("\n"))) << breakage.what;
    EXPECT_EQ(result.error().code, Errc::invalid_input);
  }
}

TEST(ResultFileTest, EveryKeyButReasonsIsRequired) {
  const Json whole = to_json(fixtures::quick());
  for (const char* place : {"", "/tool", "/timing", "/dataset", "/rows/0", "/rows/0/thread_policy",
                            "/rows/0/runs/0", "/rows/0/ci95"}) {
    const Json::json_pointer pointer(place);
    for (const auto& [key, value] : whole[pointer].items()) {
      if (key == "gpu_memory" || key == "gpu_memory_reason") continue;  // read by nobody yet
      Json json = whole;
      json[pointer].erase(key);
      EXPECT_FALSE(results::from_json(json, "x")) << place << " " << key;
    }
  }
}

TEST(ResultFileTest, UnknownKeysAreIgnored) {
  Json json = to_json(fixtures::quick());
  json["later"] = 1;
  json["rows"][0]["later"] = Json::array();
  json["rows"][0]["runs"][0]["later"] = nullptr;
  EXPECT_TRUE(results::from_json(json, "x"));
}

TEST(ResultFileTest, TruncatedFilesAreNamed) {
  const fixtures::TemporaryFolder folder("truncated");
  const std::string text = to_text(to_json(fixtures::quick()));
  const auto path = folder.path() / "half.json";
  for (std::size_t length = 0; length + 2 < text.size(); length += 997) {
    ASSERT_TRUE(write_file_atomic(path, text.substr(0, length)));
    const auto result = read(path);
    ASSERT_FALSE(result) << length;
    EXPECT_THAT(result.error().message, HasSubstr("half.json: "));
    EXPECT_THAT(result.error().message, Not(HasSubstr("\n")));
  }
  const auto missing = read(folder.path() / "none.json");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("none.json"));
}

TEST(ResultFileTest, AnUnwritablePlaceIsNamedAndLeftAlone) {
  const fixtures::TemporaryFolder folder("unwritable");
  const auto file = folder.path() / "file";
  ASSERT_TRUE(write_file_atomic(file, "x"));
  const auto status = write(file / "below.json", fixtures::empty());
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("file"));
  EXPECT_EQ(read_text_file(file).value(), "x");
}

}  // namespace
}  // namespace sluice::results::result_file_test
