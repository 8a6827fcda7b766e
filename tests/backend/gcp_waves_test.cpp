// tests/backend/gcp_waves_test.cpp - machine plan, quota and waves.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/waves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.h"
#include "tests/plan/plan_support.h"
#include <algorithm>
#include <filesystem>

namespace sluice::backend::gcp::gcp_waves_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Wanted machine(const char* type, std::int64_t disk_gb, int stage = 0) {
  plan::Cloud cloud;
  cloud.machine_type = type;
  const auto shape = shape_of(cloud);
  EXPECT_TRUE(shape) << shape.error().message;
  return {type, type, stage, *shape, disk_gb};
}

std::vector<Wave> waves(const std::vector<Wanted>& wanted, const Quota& quota = {}) {
  const auto made = make_waves(wanted, quota);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : std::vector<Wave>();
}

TEST(GcpWaves, SixC4MachinesFitAndTheSeventhWaits) {
  const std::vector<Wanted> six(6, machine("c4-standard-16", 80));
  EXPECT_THAT(waves(six), ElementsAre(SizeIs(6)));
  std::vector<Wanted> seven = six;
  seven.push_back(six.front());
  EXPECT_THAT(waves(seven), ElementsAre(SizeIs(6), SizeIs(1)));
}

TEST(GcpWaves, FiveC4AndOneG2FitWithTheDisksOfThePaper) {
  std::vector<Wanted> wanted(5, machine("c4-standard-16", 100));
  wanted.push_back(machine("g2-standard-16", 200));  // no Hyperdisk
  EXPECT_THAT(waves(wanted), ElementsAre(SizeIs(6)));
  wanted.push_back(machine("c4-standard-16", 100));
  EXPECT_THAT(waves(wanted), ElementsAre(SizeIs(6), SizeIs(1))) << "500 GB hold five disks of 100";
}

TEST(GcpWaves, DisksOf200BlockTheThirdMachine) {
  EXPECT_THAT(waves(std::vector<Wanted>(3, machine("c4-standard-16", 200))),
              ElementsAre(SizeIs(2), SizeIs(1)));
}

TEST(GcpWaves, OneGpuAtATimeWhileOthersFillTheGaps) {
  const std::vector<Wanted> wanted = {
      machine("g2-standard-16", 200), machine("g2-standard-16", 200),
      machine("c4-standard-16", 100), machine("c4-standard-16", 100)};
  EXPECT_THAT(waves(wanted), ElementsAre(ElementsAre(0, 2, 3), ElementsAre(1)));
}

TEST(GcpWaves, StagesNeverMixAndKeepTheirOrder) {
  const std::vector<Wanted> wanted = {
      machine("c4-standard-16", 100, 6), machine("c4-standard-16", 100, 0),
      machine("c4-standard-16", 100, 1), machine("c4-standard-16", 100, 0)};
  EXPECT_THAT(waves(wanted), ElementsAre(ElementsAre(1, 3), ElementsAre(2), ElementsAre(0)));
}

TEST(GcpWaves, AllVcpusCountTogether) {
  const std::vector<Wanted> wanted(3, machine("n1-standard-64", 100));
  EXPECT_THAT(waves(wanted), ElementsAre(SizeIs(2), SizeIs(1)));
}

TEST(GcpWaves, AQuotaThatHoldsNoneOfThemNamesTheMachine) {
  const auto check = [](const char* type, const Quota& quota, const char* text) {
    const auto made = make_waves({machine(type, 100)}, quota);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Errc::usage);
    EXPECT_THAT(made.error().message, HasSubstr(type));
    EXPECT_THAT(made.error().message, HasSubstr(text));
  };
  check("c4-standard-16", {.vcpus = 8}, "16 vCPU of 8");
  check("c4-standard-16", {.c4_vcpus = 8}, "16 C4 vCPU of 8");
  check("g2-standard-16", {.gpus = 0}, "1 GPU of 0");
  check("c4-standard-16", {.disk_gb = 99}, "100 GB of Hyperdisk of 99");
}

TEST(GcpWaves, NothingToDoIsNoWave) {
  EXPECT_TRUE(waves({}).empty());
}

TEST(GcpWaves, ThePaperRunsRgbThenNineChannelsThenVideo) {
  namespace fs = std::filesystem;
  std::vector<Wanted> wanted;
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(testing_support::source_dir() / "configs" / "paper"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const auto config = plan::load_run_config(file, {});
    ASSERT_TRUE(config) << config.error().message;
    const auto shape = shape_of(config->cloud);
    ASSERT_TRUE(shape) << shape.error().message;
    ASSERT_TRUE(check_rows(*config, *shape)) << file;
    wanted.push_back({file.stem().string(), config->cloud.machine_type, stage_of(*config), *shape,
                      config->cloud.disk_size_gb});
  }
  int last = 0;
  std::size_t machines = 0;
  for (const Wave& wave : waves(wanted)) {
    Load load;
    for (const std::size_t place : wave) {
      EXPECT_GE(wanted[place].stage, last);
      EXPECT_EQ(wanted[place].stage, wanted[wave.front()].stage);
      load.add(wanted[place]);
      ++machines;
    }
    last = wanted[wave.front()].stage;
    EXPECT_LE(load.vcpus, 128);
    EXPECT_LE(load.c4_vcpus, 96);
    EXPECT_LE(load.gpus, 1);
    EXPECT_LE(load.disk_gb, 500);
  }
  EXPECT_EQ(machines, 26u);
}

TEST(GcpMachines, ShapesAreKnownByNameOrByTable) {
  EXPECT_EQ(machine("c4-highmem-16", 100).shape.vcpus, 16);
  EXPECT_EQ(machine("g2-standard-24", 100).shape.gpus, 2);
  EXPECT_EQ(machine("a3-highgpu-8g", 100).shape.vcpus, 208);
  EXPECT_TRUE(machine("c4d-standard-16", 100).shape.hyperdisk);
  EXPECT_EQ(machine("c4d-standard-16", 100).shape.family, "c4d");
  for (const char* type : {"", "c5-standard-16", "c4", "c4-standard-x", "g2-standard-5"}) {
    plan::Cloud cloud;
    cloud.machine_type = type;
    const auto shape = shape_of(cloud);
    ASSERT_FALSE(shape) << type;
    EXPECT_THAT(shape.error().message, HasSubstr("accepted"));
  }
}

Status rows_on(const char* type, const std::string& yaml) {
  const auto config = plan::read(yaml.c_str());
  EXPECT_TRUE(config) << config.error().message;
  plan::RunConfig run = *config;
  run.cloud.machine_type = type;
  return check_rows(run, *shape_of(run.cloud));
}

TEST(GcpMachines, RowsGoWhereTheMachinePlanSays) {
  const std::string micro = "selection: {scenario: image-rgb, mode: micro, libraries: [kornia]}\n";
  const std::string nine = "selection: {scenario: image-9ch, mode: micro, libraries: [kornia]}\n";
  const std::string loader =
      "selection: {scenario: image-rgb, mode: pipeline, libraries: [kornia]}\n";
  EXPECT_TRUE(rows_on("c4-standard-16", micro));
  EXPECT_TRUE(rows_on("c4-standard-16", nine));
  EXPECT_TRUE(rows_on("c4d-standard-16", micro));
  EXPECT_FALSE(rows_on("c4d-standard-16", nine));
  EXPECT_FALSE(rows_on("c4d-standard-16", loader)) << "all items";
  EXPECT_FALSE(rows_on("c4d-standard-16", loader + "data: {num_items: 1001}"));
  EXPECT_TRUE(rows_on("c4d-standard-16", loader + "data: {num_items: 1000}"));
  EXPECT_FALSE(rows_on("g2-standard-16", micro)) << "rows of the CPU on a machine with a GPU";
  EXPECT_TRUE(rows_on("g2-standard-16", micro + "execution: {device: cuda}"));
  EXPECT_FALSE(rows_on("c4-standard-16", micro + "execution: {device: cuda}"));
}

TEST(GcpMachines, AQuotaReplacesOnlyWhatItNames) {
  const auto quota = parse_quota("gpus=2,disk_gb=1000");
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->gpus, 2);
  EXPECT_EQ(quota->disk_gb, 1000);
  EXPECT_EQ(quota->vcpus, 128);
  for (const char* text : {"gpus", "gpus=", "gpus=-1", "gpus=1x", "cpus=4", "gpus=1,,"})
    EXPECT_FALSE(parse_quota(text)) << text;
}

}  // namespace
}  // namespace sluice::backend::gcp::gcp_waves_test
