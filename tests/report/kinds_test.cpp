// tests/report/kinds_test.cpp - one result file of every kind that earlier versions wrote: read,
// written and reported with the same numbers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/report/report.h"
#include "sluice/report/tune_text.h"
#include "sluice/results/result_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.h"

namespace sluice::report::kinds_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

fs::path kinds_dir() {
  return testing_support::source_dir() / "tests/results/kinds";
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  return paths;
}

Json document_at(const fs::path& path) {
  return *parse_json(*read_text_file(path), path.string());
}

/// Metrics, verdict and summary, whatever the order of their keys. `null` and a key that is not
/// there say the same.
nlohmann::json conclusions(const Json& document) {
  nlohmann::json all = nlohmann::json::object();
  for (const char* section : {"metrics", "verdict", "summary"})
    if (document.contains(section)) all[section] = nlohmann::json::parse(document[section].dump());
  nlohmann::json flat = all.flatten();
  nlohmann::json kept = nlohmann::json::object();
  for (const auto& [key, value] : flat.items())
    if (!value.is_null()) kept[key] = value;
  return kept;
}

TEST(KindsTest, WhatWasConcludedIsReadAndWrittenAgain) {
  std::vector<fs::path> paths = files_in(kinds_dir());
  EXPECT_GE(paths.size(), 12U);
  for (const fs::path& path : files_in(testing_support::source_dir() / "docs/results"))
    if (document_at(path).contains("rows")) paths.push_back(path);
  for (const fs::path& path : paths) {
    const Json document = document_at(path);
    const auto file = results::from_json(document, path.string());
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->extra.is_null()) << path << ": " << file->extra.dump();
    EXPECT_EQ(nlohmann::json::diff(conclusions(document), conclusions(results::to_json(*file))),
              nlohmann::json::array())
        << path;
  }
}

TEST(KindsTest, ReportsSayWhatTheySaidBefore) {
  for (const fs::path& path : files_in(kinds_dir())) {
    const auto file = results::read(path);
    ASSERT_TRUE(file) << file.error().message;
    const auto golden = read_text_file(fs::path(path).replace_extension(".md"));
    ASSERT_TRUE(golden) << golden.error().message;
    EXPECT_EQ(markdown({*file}), *golden) << path;
  }
}

TEST(KindsTest, EachIsOfItsKind) {
  const auto kind = [](const char* name) { return *results::read(kinds_dir() / name); };
  EXPECT_GT(*kind("loader.json").loader->throughput.value, 0);
  EXPECT_EQ(kind("loader.json").loader->sweep.size(), 2U);
  EXPECT_EQ(kind("loader-peers.json").peer_ratios.size(), 5U);
  EXPECT_GT(*kind("training.json").training->timing.p50.value, 0);
  EXPECT_EQ(kind("training-amp.json").training_summary->sweep.size(), 2U);
  EXPECT_FALSE(kind("watch.json").training_summary);
  EXPECT_TRUE(kind("watch.json").training);
  EXPECT_GT(kind("mixture.json").mixture->batches_per_s, 0);
  EXPECT_FALSE(kind("mixture.json").mixture_summary->runs.empty());
  EXPECT_FALSE(kind("storage.json").storage->lines.empty());
  EXPECT_EQ(tune_text(kind("tune.json")), *read_text_file(kinds_dir() / "tune.txt"));
  EXPECT_EQ(kind("transforms.json").versus->rows, 57);
  EXPECT_EQ(kind("matrix.json").matrix->device, "none");
  EXPECT_TRUE(kind("diagnose.json").diagnosis->is_the_verdict);
  EXPECT_EQ(kind("tour.json").tour->found.size(), 3U);
}

TEST(KindsTest, AWrongTypeIsNamedWithItsPlace) {
  const std::pair<const char*, const char*> places[] = {
      {"loader.json", "/metrics/throughput_samples_per_sec"},
      {"loader.json", "/summary/sweep/0/num_workers"},
      {"training.json", "/metrics/timing/step_time_p50_s"},
      {"training.json", "/summary/libraries/0/case"},
      {"mixture.json", "/metrics/time/mean_s"},
      {"storage.json", "/summary/storage/0/concurrency"},
      {"tune.json", "/summary/tune/blocks"},
      {"transforms.json", "/summary/versus/0/outcome"},
      {"matrix.json", "/summary/published"},
      {"diagnose.json", "/summary/attribution/overlap"},
      {"tour.json", "/summary/found/0"},
      {"pairs.json", "/summary/peer_ratios/0/pairs"}};
  for (const auto& [name, pointer] : places) {
    Json document = document_at(kinds_dir() / name);
    ASSERT_TRUE(document.contains(Json::json_pointer(pointer))) << name << pointer;
    document[Json::json_pointer(pointer)] = Json::array({Json::object()});
    const auto file = results::from_json(document, name);
    ASSERT_FALSE(file) << name << pointer;
    EXPECT_EQ(file.error().code, Errc::invalid_input);
    std::string place = pointer + 1;
    std::replace(place.begin(), place.end(), '/', '.');
    const std::size_t dot = place.find(".0");
    if (dot != std::string::npos) place.replace(dot, 2, "[0]");
    EXPECT_THAT(file.error().message, HasSubstr(std::string(name) + ": " + place + ": must be "));
  }
}

}  // namespace
}  // namespace sluice::report::kinds_test
