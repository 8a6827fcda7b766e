// tests/visit/study_file_test.cpp - study files to settings, fitted to a machine; study.json.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/parse.h"
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/visit/study/file.h"
#include "sluice/visit/study/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.h"
#include <filesystem>
#include <set>

namespace sluice::visit::study_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

Result<StudyFile> parsed(const std::string& text) {
  const auto node = config::parse(text, "s.yaml");
  if (!node) return node.error();
  return StudyFile::parse(*node);
}

fs::path source(const char* name) {
  return testing_support::source_dir() / "configs" / "studies" / name;
}

TEST(StudyFileTest, OneAxisAtATime) {
  const auto study = parsed(
      "name: s\n"
      "base: {cpus: 8, read: 2/3, mix: 4/5, samples_per_episode: 0, warmup: 1, steps: 9}\n"
      "groups:\n"
      "  - {label: a, read: [2/3, 8/9], mix: [4/5, 8/5, 2/6]}\n"
      "  - {label: b, metadata: off, cpus: [8, 4], steps: 99}\n");
  ASSERT_TRUE(study) << study.error().message;
  ASSERT_EQ(study->cases.size(), 6U);
  EXPECT_EQ(study->cases[0].knobs, study->base);
  EXPECT_EQ(study->cases[1].knobs.decode, 8);
  EXPECT_EQ(study->cases[1].knobs.interleave, 9);
  EXPECT_EQ(study->cases[1].knobs.mix_block, 4);
  EXPECT_EQ(study->cases[3].knobs.queue, 6);
  EXPECT_EQ(study->cases[3].knobs.decode, 2);
  EXPECT_EQ(study->cases[5].knobs.metadata, "off");
  EXPECT_EQ(study->cases[5].knobs.cpus, 4);
  EXPECT_EQ(study->cases[5].knobs.steps, 99U);
  EXPECT_EQ(study->cases[5].knobs.samples_per_episode, 0);
  EXPECT_EQ(study->cases[5].seed, 42U);
}

TEST(StudyFileTest, CrossedAxesAndSeeds) {
  const auto study = parsed(
      "name: s\nseed: 7\ngroups: [{label: a, cross: true, read: [2/2, 4/4], mix: [4/4, 8/4], "
      "seeds: [1, 2, 3]}]\n");
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_EQ(study->cases.size(), 12U);
  std::set<std::pair<analysis::MixtureKnobs, std::uint64_t>> different;
  for (const StudyCase& one : study->cases)
    different.insert({one.knobs, one.seed});
  EXPECT_EQ(different.size(), 12U);
}

struct Wrong {
  const char* name;
  const char* text;
  const char* error;
};
class WrongStudyTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongStudyTest, IsRefusedInOneLine) {
  const auto study = parsed(GetParam().text);
  ASSERT_FALSE(study);
  EXPECT_THAT(study.error().message, HasSubstr(GetParam().error));
  EXPECT_EQ(study.error().message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongStudyTest,
    ::testing::Values(
        Wrong{"nameless", "groups: [{label: a}]", "name"},
        Wrong{"no_groups", "name: s", "come to 0 settings"},
        Wrong{"unlabelled", "name: s\ngroups: [{read: 4/4}]", "label"},
        Wrong{"pair", "name: s\ngroups: [{label: a, read: [4/4, 8]}]",
              "is not two numbers from 1 to 65536, such as 4/4"},
        Wrong{"zero", "name: s\ngroups: [{label: a, mix: 0/4}]", "is not two numbers"},
        Wrong{"metadata", "name: s\ngroups: [{label: a, metadata: ful}]", "full"},
        Wrong{"unknown", "name: s\ngroups: [{label: a, queue: 4}]", "queue"},
        Wrong{"block", "name: s\nbatch_size: 64\ngroups: [{label: a, mix: 5/4}]",
              "a batch of 64 is no multiple of a block of 5"},
        Wrong{"steps", "name: s\ngroups: [{label: a, steps: 0}]", "steps"},
        Wrong{"base_list", "name: s\nbase: {read: [4/4, 8/8]}\ngroups: [{label: a}]",
              "the base has one value of each"},
        Wrong{"order", "name: s\norder: sorted\ngroups: [{label: a}]", "deficit"},
        Wrong{"many",
              "name: s\ngroups: [{label: a, samples_per_episode: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "
              "cpus: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], cross: true, read: [1/1, 2/2, 3/3, 4/4, 5/5, "
              "6/6, 7/7, 8/8, 9/9, 10/10, 11/11]}]",
              "come to 1001 settings"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(StudyFileTest, TheClusterStudyHasItsAxes) {
  const auto study = read_study(source("cluster_samples1.yaml"));
  ASSERT_TRUE(study) << study.error().message;
  std::set<std::string> seen;
  for (const StudyCase& one : study->cases) {
    seen.insert("cpus " + std::to_string(one.knobs.cpus));
    seen.insert("metadata " + one.knobs.metadata);
    seen.insert("read " + analysis::value_of(one.knobs, analysis::MixtureKnob::read));
    seen.insert("mix " + analysis::value_of(one.knobs, analysis::MixtureKnob::mix));
    seen.insert("samples " + std::to_string(one.knobs.samples_per_episode));
    seen.insert("steps " + std::to_string(one.knobs.steps));
  }
  for (const char* value :
       {"cpus 8",       "cpus 16",   "cpus 32",   "metadata full", "metadata dataset_only",
        "metadata off", "read 2/2",  "read 4/4",  "read 8/8",      "mix 4/4",
        "mix 2/4",      "mix 8/4",   "mix 4/8",   "mix 2/8",       "mix 8/8",
        "samples 0",    "samples 1", "samples 2", "samples 5",     "samples 10",
        "steps 20",     "steps 40",  "steps 80",  "steps 160",     "steps 1200"})
    EXPECT_TRUE(seen.count(value)) << value;
  EXPECT_GE(study->cases.size(), 25U);
  EXPECT_TRUE(read_study(source("samples_per_episode.yaml")));
}

TEST(StudyFileTest, ASmallMachineClipsAndMerges) {
  const auto study = read_study(source("cluster_samples1.yaml"));
  ASSERT_TRUE(study);
  const FittedStudy fitted = fit_study(*study, {.cpus = 2, .steps = 16});
  EXPECT_EQ(fitted.base.cpus, 2);
  EXPECT_EQ(fitted.cases.size(), 16U);
  for (const StudyCase& one : fitted.cases) {
    EXPECT_LE(one.knobs.cpus, 2);
    EXPECT_EQ(one.knobs.steps, 16U);
    EXPECT_EQ(one.knobs.warmup, 8U);
  }
  EXPECT_THAT(fitted.remarks,
              ElementsAre(HasSubstr("CPUs 16, 32, 8, 4: clipped to the 2 of this machine"),
                          HasSubstr("16 batches after a warm-up of 8"),
                          HasSubstr("settings are the same as another one here")));
  // The base is measured for every question that asks for it.
  const auto base = std::find_if(fitted.cases.begin(), fitted.cases.end(),
                                 [&](const StudyCase& one) { return one.knobs == fitted.base; });
  ASSERT_NE(base, fitted.cases.end());
  EXPECT_THAT(base->labels, ElementsAre("prior metadata diagnosis", "metadata A/B", "ablation",
                                        "samples per episode", "long run"));
}

TEST(StudyFileTest, ALargeMachineChangesNothing) {
  const auto study = parsed("name: s\ngroups: [{label: a, cpus: [1, 2]}]\nbase: {cpus: 2}\n");
  ASSERT_TRUE(study);
  const FittedStudy fitted = fit_study(*study, {.cpus = 64});
  EXPECT_EQ(fitted.cases.size(), 2U);
  EXPECT_TRUE(fitted.remarks.empty());
  EXPECT_EQ(fitted.base, study->base);
}

StudyRecord a_record() {
  StudyRecord record;
  record.study = study_json(*parsed("name: s\ngroups: [{label: a}]\nbase: {cpus: 2}\n"));
  record.remarks["m"] = {"clipped"};
  analysis::MixtureStudyRun run;
  run.machine = "m";
  run.knobs.cpus = 2;
  run.seed = 42;
  run.repeat = 1;
  run.samples_per_s = 100;
  record.runs = {run, run};
  record.runs[1].repeat = 2;
  record.runs[1].failure = "gone";
  return record;
}

TEST(StudyRecordTest, SurvivesItsFile) {
  const StudyRecord record = a_record();
  const fs::path folder = fs::path(::testing::TempDir()) / "study_record_test";
  fs::create_directories(folder);
  report::StudyFacts facts;
  facts.name = "s";
  facts.base.cpus = 2;
  ASSERT_TRUE(write_study(folder, record, facts));
  const auto read = read_study_record(folder / kStudyRecord);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(record));
  for (const char* name : {kStudyLog, kStudyAdvice})
    EXPECT_TRUE(fs::exists(folder / name)) << name;
  ASSERT_TRUE(write_file_atomic(folder / kStudyRecord, "{\"schema_version\": 9}"));
  EXPECT_THAT(read_study_record(folder / kStudyRecord).error().message,
              HasSubstr("schema_version 9, 1 is read"));
  fs::remove_all(folder);
}

TEST(StudyRecordTest, OnlyWhatDidNotFailIsFinished) {
  const StudyRecord record = a_record();
  StudyCase one{{"a"}, record.runs[0].knobs, 42};
  EXPECT_TRUE(is_finished(record, "m", one, 1));
  EXPECT_FALSE(is_finished(record, "m", one, 2));      // failed
  EXPECT_FALSE(is_finished(record, "other", one, 1));  // each machine measures for itself
  one.seed = 43;
  EXPECT_FALSE(is_finished(record, "m", one, 1));
  one.seed = 42;
  one.knobs.steps = 16;
  EXPECT_FALSE(is_finished(record, "m", one, 1));
}

}  // namespace
}  // namespace sluice::visit::study_file_test
