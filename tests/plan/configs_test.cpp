// tests/plan/configs_test.cpp - every checked-in configuration validates and plans.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.h"
#include <algorithm>
#include <filesystem>
#include <set>

namespace sluice::plan::configs_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<fs::path> configs(const char* folder) {
  std::vector<fs::path> paths;
  for (const auto& entry :
       fs::directory_iterator(testing_support::source_dir() / "configs" / folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<fs::path> all_configs() {
  auto paths = configs("paper");
  for (fs::path& path : configs("examples"))
    paths.push_back(std::move(path));
  return paths;
}

RunConfig load(const char* name) {
  auto run = load_run_config(testing_support::source_dir() / "configs" / name, {});
  EXPECT_TRUE(run) << run.error().message;
  return std::move(run).value();
}

TEST(Configs, ThePublishedNamesAreThere) {
  std::set<std::string> names;
  for (const fs::path& path : configs("paper"))
    names.insert(path.stem().string());
  for (const char* name :
       {"prod_c4_rgb_micro_cpu", "prod_c4_rgb_dataloader_cpu", "prod_c4_9ch_micro_cpu",
        "prod_c4_9ch_dataloader_cpu", "prod_g2_rgb_micro_gpu", "prod_g2_rgb_dataloader_gpu",
        "prod_g2_9ch_micro_gpu", "prod_g2_9ch_dataloader_gpu", "gcp_g2_video_smoke"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(names.size(), 26u);
  EXPECT_EQ(configs("examples").size(), 7u);
}

TEST(Configs, EveryOneValidatesPlansAndNamesEachFileOnce) {
  for (const fs::path& path : all_configs()) {
    SCOPED_TRACE(path.filename());
    const auto run = load_run_config(path, {});
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_TRUE(run->notes.empty());
    const auto plan = make_plan(*run);
    ASSERT_TRUE(plan) << plan.error().message;
    const std::set<fs::path> unique(plan->expected_outputs.begin(), plan->expected_outputs.end());
    EXPECT_EQ(unique.size(), plan->jobs.size());
    const bool paper = path.parent_path().filename() == "paper";
    EXPECT_EQ(run->on_cloud(), paper);
    const bool smoke = path.stem().string().ends_with("_smoke");
    if (run->selection.multichannel && run->mode() == Mode::pipeline && !smoke) {
      EXPECT_EQ(run->execution.batch_size, 64);
    }
    EXPECT_EQ(run->execution.num_runs, 1);
    EXPECT_EQ(run->execution.min_time, 0);
    if (paper) {
      EXPECT_EQ(run->cloud.project, "example-project");
      EXPECT_THAT(*run->data.gcs_uri, HasSubstr("gs://example-bucket/"));
    }
  }
}

TEST(Configs, EveryOneTakesTheFlagsOfASmallLocalRun) {
  Overrides over;
  over.local = true;
  over.num_items = 2;
  over.num_runs = 1;
  over.transforms = {"HorizontalFlip", "Resize"};
  for (const fs::path& path : all_configs()) {
    SCOPED_TRACE(path.filename());
    const auto run = load_run_config(path, over);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_FALSE(run->on_cloud());
    EXPECT_EQ(run->data.num_items, 2);
    const auto plan = make_plan(*run);
    ASSERT_TRUE(plan) << plan.error().message;
    for (const Job& job : plan->jobs)
      EXPECT_EQ(job.cases.size(), run->mode() == Mode::decode ? 1u : 2u);
  }
}

TEST(Configs, ProductionSizesAreTheFinalOnes) {
  const RunConfig gpu = load("paper/prod_g2_rgb_dataloader_gpu.yaml");
  EXPECT_EQ(gpu.execution.pipeline_scope, Scope::memory_dataloader_augment);
  EXPECT_EQ(gpu.execution.slow_preflight_items, 256);
  EXPECT_EQ(gpu.execution.batch_size, 256);
  EXPECT_EQ(gpu.data.num_items, 10000);
  EXPECT_EQ(load("paper/prod_g2_9ch_micro_gpu.yaml").data.num_items, 1000);
  const RunConfig video = load("paper/prod_g2_video_dataloader_gpu.yaml");
  EXPECT_EQ(video.data.num_items, 625);
  EXPECT_EQ(video.execution.batch_size, 16);
  EXPECT_THAT(
      load("examples/local_rgb_micro_cpu.yaml").libraries(),
      ElementsAre("sluice", "albumentationsx", "torchvision", "kornia", "pillow", "opencv"));
}

}  // namespace
}  // namespace sluice::plan::configs_test
