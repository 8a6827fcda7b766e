// tests/cli/data_test.cpp - `sluice data`: what is printed, and the exit codes of bad input.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program_run.h"
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace sluice::cli::data_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class DataCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("sluice-data-cli-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    photos_ = (folder_ / "photos").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] Outcome make(const std::string& count) const {
    return outcome_of({"data", "make", "--count", count, "--out", photos_, "--width", "40",
                       "--height", "30", "--json", "--quiet"});
  }

  struct Refused {
    std::vector<std::string> flags;
    const char* says;
  };
  /// Exit code 2 with that text, and nothing written.
  void expect_refused(const std::vector<Refused>& cases) const {
    const std::string out = (folder_ / "none").string();
    for (const auto& [flags, says] : cases) {
      std::vector<std::string> arguments = {"data", "make", "--out", out, "--quiet"};
      arguments.insert(arguments.end(), flags.begin(), flags.end());
      const Outcome outcome = outcome_of(arguments);
      EXPECT_EQ(outcome.code, 2) << says;
      EXPECT_THAT(outcome.err, HasSubstr(says));
      EXPECT_FALSE(fs::exists(out));
    }
  }

  fs::path folder_;
  std::string photos_;
};

TEST_F(DataCommand, MakeAndInfoAgree) {
  const Outcome made = make("3");
  ASSERT_EQ(made.code, 0) << made.err;
  const auto report = parse_json(made.out, "make");
  ASSERT_TRUE(report) << made.out;
  const Outcome seen = outcome_of({"data", "info", photos_, "--json", "--quiet"});
  ASSERT_EQ(seen.code, 0) << seen.err;
  const auto info = parse_json(seen.out, "info");
  ASSERT_TRUE(info);
  EXPECT_EQ((*info)["hash"], (*report)["hash"]);
  EXPECT_EQ((*info)["count"], 3);
  EXPECT_EQ((*info)["usable"], 3);
  EXPECT_EQ((*info)["width"]["median"], 40);
  EXPECT_EQ((*info)["formats"]["jpeg"], 3);
}

TEST_F(DataCommand, InfoUnderstandsEveryKindThatMakeWrites) {
  for (const std::string kind : {"9ch", "video"}) {
    const std::string folder = (folder_ / kind).string();
    const Outcome made =
        outcome_of({"data", "make", "--kind", kind, "--count", "2", "--out", folder, "--width",
                    "48", "--height", "32", "--json", "--quiet"});
    if (made.code != 0) {
      EXPECT_THAT(made.err, HasSubstr("libsluice_video.so is not installed"));
      continue;  // built without libav
    }
    const auto report = parse_json(made.out, "make");
    ASSERT_TRUE(report) << made.out;
    EXPECT_EQ((*report)["kind"], kind);
    EXPECT_EQ(report->contains("frames_hash"), kind == "video");
    const Outcome seen = outcome_of({"data", "info", folder, "--json", "--quiet"});
    const auto info = parse_json(seen.out, "info");
    ASSERT_TRUE(info) << seen.err;
    EXPECT_EQ((*info)["kind"], kind == "video" ? "clips" : "arrays");
    EXPECT_EQ((*info)["hash"], (*report)["hash"]);
    EXPECT_EQ((*info)["usable"], 2);
    const std::string file = folder + (kind == "video" ? "/video-000000.mp4" : "/9ch-000000.npy");
    const Outcome one = outcome_of({"data", "info", file, "--json", "--quiet"});
    EXPECT_EQ(one.code, 0) << one.err;
    EXPECT_THAT(one.out, HasSubstr(kind == "video" ? "h264" : "[\n    32,\n    48,\n    9\n  ]"));
    EXPECT_EQ(outcome_of({"data", "info", file, "--quiet"}).code, 0);
    EXPECT_EQ(outcome_of({"data", "info", folder, "--quiet"}).code, 0);
  }
}

TEST_F(DataCommand, BadCountsAreUsageErrors) {
  for (const char* count : {"0", "-1", "1000001", "many"}) {
    const Outcome outcome = make(count);
    EXPECT_EQ(outcome.code, 2) << count;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(count));
  }
  EXPECT_FALSE(fs::exists(photos_));
}

TEST_F(DataCommand, EpisodesHaveTheirOwnFlags) {
  expect_refused({
      {{"--kind", "episodes", "--max-gb", "0.01"}, "--max-gb 0.01: about 3."},
      {{"--kind", "episodes", "--max-gb", "nan"}, "--max-gb"},
      {{"--kind", "episodes", "--episodes", "0"}, "--episodes 0: 1 to"},
      {{"--kind", "episodes", "--preset", "oxe"}, "accepted: oxe29, small4"},
      {{"--kind", "episodes", "--count", "3"}, "--count is not for --kind episodes"},
      {{"--kind", "rgb", "--count", "3", "--episodes", "3"}, "--episodes is not for --kind rgb"},
      {{"--kind", "rgb"}, "--count is required"},
  });
}

TEST_F(DataCommand, TextIsMadeAndLookedAt) {
  const std::string text = (folder_ / "text").string();
  const Outcome made = outcome_of({"data", "make", "--kind", "text", "--tokens", "5000", "--shards",
                                   "2", "--vocabulary", "300", "--out", text, "--json", "--quiet"});
  ASSERT_EQ(made.code, 0) << made.err;
  const auto report = parse_json(made.out, "make");
  ASSERT_TRUE(report) << made.out;
  EXPECT_EQ((*report)["tokens"], 5000);
  EXPECT_EQ((*report)["written"], 2);
  EXPECT_GT((*report)["unigram_nats"].get<double>(), 2);
  const Outcome seen = outcome_of({"data", "info", text, "--quiet"});
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_THAT(seen.out, HasSubstr("5000 uint16 tokens in 2 shards, 10000 bytes, vocabulary 300"));
  const auto info = parse_json(outcome_of({"data", "info", text, "--json"}).out, "info");
  ASSERT_TRUE(info);
  EXPECT_EQ((*info)["kind"], "text");
  ASSERT_TRUE(write_file_atomic(fs::path(text) / "tokens-00001.bin", "odd"));
  const Outcome odd = outcome_of({"data", "info", text});
  EXPECT_EQ(odd.code, 2);
  EXPECT_THAT(odd.err, HasSubstr("tokens-00001.bin: has 3 bytes"));
}

TEST_F(DataCommand, TextHasItsOwnFlags) {
  expect_refused({
      {{"--kind", "text"}, "--tokens is required for --kind text"},
      {{"--kind", "text", "--tokens", "100", "--count", "3"}, "--count is not for --kind text"},
      {{"--kind", "rgb", "--count", "3", "--tokens", "9"}, "--tokens is not for --kind rgb"},
      {{"--kind", "text", "--tokens", "many"}, "--tokens"},
      {{"--kind", "text", "--tokens", "100", "--shards", "200"}, "--shards 200: 1 to 100"},
      {{"--kind", "text", "--tokens", "100", "--vocabulary", "1"}, "--vocabulary 1: 3 to"},
  });
}

TEST_F(DataCommand, CorruptFilesAreListedAndOnlyFatalWhenNothingIsLeft) {
  ASSERT_EQ(make("1").code, 0);
  ASSERT_TRUE(write_file_atomic(fs::path(photos_) / "broken.jpg", "not an image"));
  Outcome outcome = outcome_of({"data", "info", photos_, "--quiet"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("bad: broken.jpg: not a JPEG, PNG or WebP"));
  fs::remove(fs::path(photos_) / "rgb-000000.jpg");
  outcome = outcome_of({"data", "info", photos_, "--json", "--quiet"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(parse_json(outcome.out, "info"));
  EXPECT_THAT(outcome.err, HasSubstr("broken.jpg"));
  outcome = outcome_of({"data", "info", photos_ + "/broken.jpg", "--json"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
}

TEST_F(DataCommand, MissingAndEmptyPathsAreNamed) {
  EXPECT_EQ(outcome_of({"data", "info", photos_}).code, 2);
  const Outcome empty = outcome_of({"data", "info", folder_.string()});
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("*.jpg, *.jpeg, *.png, *.webp, *.npy"));
}

}  // namespace
}  // namespace sluice::cli::data_test
