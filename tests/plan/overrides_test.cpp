// tests/plan/overrides_test.cpp - flags win over the file, all are applied, and errors name them.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/plan_support.h"

namespace sluice::plan::overrides_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Overrides, EveryFlagIsApplied) {
  Overrides over;
  over.data_dir = "photos: all";
  over.num_items = 7;
  over.num_runs = 2;
  over.device = "none";
  over.workers = 3;
  over.batch_size = 5;
  over.output = "out";
  over.libraries = {"kornia", "torchvision"};
  over.transforms = {"Resize", "HorizontalFlip"};
  over.transform_set = "paper";
  over.seed = 9;
  const auto run = read(kPipeline, over);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->data.data_dir, "photos: all");
  EXPECT_EQ(run->data.num_items, 7);
  EXPECT_EQ(run->execution.num_runs, 2);
  EXPECT_EQ(run->execution.workers, 3);
  EXPECT_EQ(run->execution.batch_size, 5);
  EXPECT_EQ(run->output.output_dir, "out");
  EXPECT_THAT(run->libraries(), ElementsAre("kornia", "torchvision"));
  EXPECT_THAT(*run->selection.transforms, ElementsAre("Resize", "HorizontalFlip"));
  EXPECT_EQ(run->execution.seed, 9u);
}

TEST(Overrides, WhatIsNotGivenStaysAsTheFileSays) {
  const auto run = read(kPipeline);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->data.num_items, 100);
  EXPECT_EQ(run->execution.batch_size, 8);
  EXPECT_EQ(run->execution.workers, 2);
}

TEST(Overrides, FlagsWinOverSetAndSetOverTheFile) {
  Overrides over;
  over.set = {"data.num_items=20", "execution.batch_size=4", "execution.batch_size=6"};
  over.num_items = 30;
  const auto run = read(kPipeline, over);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->data.num_items, 30);
  EXPECT_EQ(run->execution.batch_size, 6);
}

TEST(Overrides, TransformSetReplacesTheTransformsOfTheFile) {
  Overrides over;
  over.transform_set = "paper";
  const auto run = read("selection: {scenario: image-rgb, transforms: [Resize]}", over);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->selection.transforms->size(), 57u);
}

TEST(Overrides, LibrariesReplaceDecoders) {
  Overrides over;
  over.libraries = {"pyav"};
  const auto run = read("selection: {scenario: video-decode-16f, decoders: [opencv]}", over);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->libraries(), ElementsAre("pyav"));
}

TEST(Overrides, LocalDropsTheCloudSectionUnread) {
  Overrides over;
  over.local = true;
  const auto run = read("selection: {scenario: image-rgb}\ncloud: {provider: gcp}", over);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_FALSE(run->on_cloud());
  EXPECT_FALSE(to_json(*run).contains("cloud"));
}

TEST(Overrides, TheResultIsCheckedAgainAndTheFlagIsNamed) {
  Overrides over;
  over.workers = 2;
  EXPECT_THAT(error_of(kMicro, over),
              HasSubstr("--workers 2: execution.workers: must be 0 in micro mode"));
  over = {};
  over.device = "cuda";
  EXPECT_THAT(error_of(kMicro, over),
              HasSubstr("--device cuda: execution.device: cuda is not accepted for pillow"));
  over = {};
  over.libraries = {"pilow"};
  EXPECT_THAT(error_of(kMicro, over), HasSubstr("--libraries pilow: selection.libraries: 'pilow'"));
  over = {};
  over.transforms = {"Resise"};
  EXPECT_THAT(error_of(kMicro, over), HasSubstr("--transforms Resise: selection.transforms"));
  over = {};
  over.transform_set = "all";
  EXPECT_THAT(error_of(kMicro, over), HasSubstr("--transform-set all"));
  over = {};
  over.batch_size = 8;
  EXPECT_THAT(error_of(kMicro, over), HasSubstr("--batch-size 8: micro mode has no batches"));
  over = {};
  over.set = {"execution.num_rus=3"};
  EXPECT_THAT(error_of(kMicro, over), HasSubstr("nearest: 'num_runs'"));
  over.set = {"nonsense"};
  EXPECT_THAT(error_of(kMicro, over), HasSubstr("not of the form"));
}

TEST(Overrides, SectionsThatTheFileLacksAreMade) {
  Overrides over;
  over.num_items = 3;
  EXPECT_EQ(read("selection: {scenario: image-rgb}\ndata:\n", over)->data.num_items, 3);
  EXPECT_EQ(read("", over)->data.num_items, 3);
  EXPECT_THAT(error_of("data: 5", over), HasSubstr("is not a map"));
  EXPECT_THAT(error_of("[1, 2]", over), HasSubstr("is not a map"));
}

TEST(Overrides, AMissingFileIsNamed) {
  const auto run = load_run_config("no/such.yaml", {});
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("no/such.yaml"));
}

}  // namespace
}  // namespace sluice::plan::overrides_test
