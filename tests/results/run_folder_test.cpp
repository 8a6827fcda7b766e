// tests/results/run_folder_test.cpp - making, refusing, continuing and locking run folders.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/run_folder.h"

#include "sluice/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/fixtures.h"
#include <fstream>
#include <optional>

namespace sluice::results::run_folder_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class RunFolderTest : public ::testing::Test {
 protected:
  static std::string refusal(const fs::path& out, bool resume) {
    RunFolder::Options options;
    options.out = out;
    options.resume = resume;
    const auto folder = RunFolder::open(options);
    return folder ? "accepted" : folder.error().message;
  }
  Result<RunFolder> open() {
    RunFolder::Options options;
    options.out = out_;
    return RunFolder::open(options);
  }

  fixtures::TemporaryFolder temporary_{"run-folder"};
  fs::path out_ = temporary_.path() / "R";
};

TEST_F(RunFolderTest, NamesItselfByTimeNameAndProfile) {
  RunFolder::Options options;
  options.name = "quick run";
  options.profile = "cpu-arm_sluice1";
  options.utc = "20260131T120000Z";
  options.parent = temporary_.path() / "runs";
  const auto first = RunFolder::open(options);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->path().filename(), "20260131T120000Z-quick-run-cpu-arm_sluice1");
  EXPECT_FALSE(first->resumed());
  EXPECT_TRUE(fs::is_directory(first->results()));
  const auto second = RunFolder::open(options);  // started in the same second
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->path().filename(), "20260131T120000Z-quick-run-cpu-arm_sluice1-2");
  options.utc.clear();
  const auto now = RunFolder::open(options);
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_THAT(now->path().filename().string(),
              MatchesRegex("20[0-9]+T[0-9]+Z-quick-run-cpu-arm_sluice1"));
}

TEST_F(RunFolderTest, WritesTheFilesOfARun) {
  const auto folder = open();
  ASSERT_TRUE(folder) << folder.error().message;
  ASSERT_TRUE(folder->write_environment(Json{{"cpu", "x"}}));
  ASSERT_TRUE(folder->write_config("a: 1\n"));
  ASSERT_TRUE(folder->write_report("# md\n", "<html>"));
  ASSERT_TRUE(folder->write_result("rgb/micro/quick.json", fixtures::quick()));
  EXPECT_EQ(read_text_file(out_ / "env.json").value(), "{\n  \"cpu\": \"x\"\n}\n");
  EXPECT_EQ(read_text_file(out_ / "resolved_config.yaml").value(), "a: 1\n");
  EXPECT_EQ(read_text_file(out_ / "report.md").value(), "# md\n");
  EXPECT_EQ(read_text_file(out_ / "report.html").value(), "<html>");
  EXPECT_EQ(find(out_).value().front(), out_ / "results/rgb/micro/quick.json");
}

TEST_F(RunFolderTest, AnEmptyFolderIsTakenAFullOneIsNot) {
  ASSERT_TRUE(create_folders(out_));
  {
    const auto folder = open();
    ASSERT_TRUE(folder);
    ASSERT_TRUE(folder->write_result("quick.json", fixtures::quick()));
  }
  EXPECT_THAT(refusal(out_, false), HasSubstr("is not empty; name a new folder, or add --resume"));
  const fs::path other = temporary_.path() / "other";
  ASSERT_TRUE(create_folders(other));
  ASSERT_TRUE(write_file_atomic(other / "thesis.tex", "x"));
  EXPECT_THAT(refusal(other, false), HasSubstr("other: is not empty; name a new folder"));
  EXPECT_THAT(refusal(other, true), HasSubstr("is not a run folder"));
  EXPECT_FALSE(fs::exists(other / ".lock")) << "a folder that is not ours gets no file";
  EXPECT_THAT(refusal(other / "thesis.tex", false), HasSubstr("thesis.tex"));
}

TEST_F(RunFolderTest, ResumeContinuesWhatExists) {
  EXPECT_THAT(refusal("", true), HasSubstr("add --out DIR"));
  EXPECT_THAT(refusal(out_, true), HasSubstr("no such run folder"));
  {
    const auto folder = open();
    ASSERT_TRUE(folder);
    ASSERT_TRUE(folder->write_result("quick.json", fixtures::quick()));
  }
  RunFolder::Options options;
  options.out = out_;
  options.resume = true;
  const auto again = RunFolder::open(options);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->resumed());
}

TEST_F(RunFolderTest, ASecondRunOnTheSameFolderIsRefused) {
  std::optional<RunFolder> held;
  {
    auto folder = open();
    ASSERT_TRUE(folder);
    held.emplace(std::move(*folder));
  }
  EXPECT_THAT(refusal(out_, true), MatchesRegex(".*R: process [0-9]+ \\(.*\\) is writing it; wait "
                                                "for it or name another folder with --out"));
  EXPECT_THAT(refusal(out_, false), HasSubstr("is writing it")) << "nothing finished is in it yet";
  held.reset();
  EXPECT_EQ(refusal(out_, true), "accepted");
}

/// What a run leaves that is killed before its first result.
TEST_F(RunFolderTest, AFolderWithNothingFinishedIsOursToUse) {
  for (const bool resume : {false, true}) {
    {
      const auto killed = open();
      ASSERT_TRUE(killed) << killed.error().message;
      ASSERT_TRUE(killed->write_environment(Json{{"cpu", "x"}}));
      ASSERT_TRUE(create_folders(out_ / "data"));
      ASSERT_TRUE(create_folders(out_ / "results/rgb/micro"));
      ASSERT_TRUE(create_folders(out_ / "checkpoints"));
      for (const char* name :
           {"data/dataset.json", "data/rgb-000000.jpg", "results/.sluice-0123456789abcdef.tmp",
            ".sluice-0123456789abcdef.tmp", ".data.lock"})
        std::ofstream(out_ / name) << "text";
      std::ofstream(out_ / "steps.jsonl");
    }
    RunFolder::Options options;
    options.out = out_;
    options.resume = resume;
    const auto again = RunFolder::open(options);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(again->resumed());
    EXPECT_FALSE(fs::exists(out_ / "data")) << "what was left is gone";
    EXPECT_FALSE(fs::exists(out_ / "env.json"));
    EXPECT_TRUE(fs::is_empty(again->results()));
  }
}

TEST_F(RunFolderTest, WhatMayBeSomebodysIsKept) {
  const auto refused_with = [&](const char* name, const char* text) {
    { ASSERT_TRUE(open()); }
    ASSERT_TRUE(create_folders((out_ / name).parent_path()));
    ASSERT_TRUE(write_file_atomic(out_ / name, text));
    EXPECT_THAT(refusal(out_, false), HasSubstr("is not empty")) << name;
    EXPECT_EQ(read_text_file(out_ / name).value(), text);
    fs::remove_all(out_);
  };
  refused_with("notes.txt", "mine");
  refused_with("data/photo.jpg", "mine");
  refused_with("metrics.json", "{}");
  refused_with("results/quick.json", "{}");
  refused_with("checkpoints/last.safetensors", "weights");
  // No run of ours was begun in it.
  ASSERT_TRUE(create_folders(out_ / "logs"));
  ASSERT_TRUE(write_file_atomic(out_ / "logs/log.txt", "mine"));
  ASSERT_TRUE(write_file_atomic(out_ / "env.json", "{}"));
  EXPECT_THAT(refusal(out_, false), HasSubstr("is not empty"));
  EXPECT_TRUE(fs::exists(out_ / "logs/log.txt"));
}

TEST(FileNamePartTest, OnlyPlainCharactersStay) {
  EXPECT_EQ(file_name_part("a b/../c\n"), "a-b-..-c-");
  EXPECT_EQ(file_name_part(".."), "unnamed");
  EXPECT_EQ(file_name_part(""), "unnamed");
}

}  // namespace
}  // namespace sluice::results::run_folder_test
