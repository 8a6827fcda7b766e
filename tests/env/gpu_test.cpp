// tests/env/gpu_test.cpp - GPUs as a scripted NVML tells of them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/fixture.h"

namespace sluice::env::gpu_test {
namespace {

using fixture::FakeNvml;

std::vector<std::int64_t> visible(const Gpus& gpus) {
  std::vector<std::int64_t> indices;
  for (const Gpu& gpu : gpus.devices) {
    if (gpu.visible) indices.push_back(gpu.index);
  }
  return indices;
}

FakeNvml cards(std::size_t count) {
  FakeNvml nvml;
  nvml.cards.resize(count);
  return nvml;
}

TEST(ReadGpus, ADriverWithoutCards) {
  FakeNvml nvml;
  const Gpus gpus = read_gpus(nvml, std::nullopt);
  EXPECT_TRUE(gpus.devices.empty());
  EXPECT_EQ(*gpus.driver_version, "550.54.15");
  EXPECT_EQ(*gpus.cuda_version, "12.4");
}

TEST(ReadGpus, OneCard) {
  FakeNvml nvml = cards(1);
  const Gpus gpus = read_gpus(nvml, std::nullopt);
  ASSERT_EQ(gpus.devices.size(), 1U);
  const Gpu& gpu = gpus.devices[0];
  EXPECT_EQ(*gpu.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(*gpu.compute_capability, "9.0");
  EXPECT_EQ(*gpu.memory_bytes, 85'899'345'920);
  EXPECT_EQ(*gpu.sm_clock_mhz, 345);
  EXPECT_EQ(*gpu.max_sm_clock_mhz, 1980);
  EXPECT_EQ(*gpu.max_memory_clock_mhz, 2619);
  EXPECT_DOUBLE_EQ(*gpu.power_limit_w, 700.0);
  EXPECT_TRUE(*gpu.ecc);
  EXPECT_FALSE(*gpu.mig);
  EXPECT_TRUE(gpu.visible);
}

TEST(ReadGpus, EightCards) {
  FakeNvml nvml = cards(8);
  EXPECT_EQ(visible(read_gpus(nvml, std::nullopt)).size(), 8U);
}

TEST(ReadGpus, AFailingQuestionIsOneUnknownField) {
  FakeNvml nvml = cards(2);
  nvml.failing = {"ecc", "name:1"};
  const Gpus gpus = read_gpus(nvml, std::nullopt);
  ASSERT_EQ(gpus.devices.size(), 2U);
  EXPECT_EQ(gpus.devices[0].ecc.reason, "ecc: Not Supported");
  EXPECT_TRUE(gpus.devices[0].name);
  EXPECT_EQ(gpus.devices[1].name.reason, "name: GPU is lost");
  EXPECT_TRUE(gpus.devices[1].memory_bytes);
}

TEST(ReadGpus, EverythingFailing) {
  FakeNvml nvml = cards(1);
  nvml.failing = {"driver", "cuda", "count"};
  const Gpus gpus = read_gpus(nvml, std::nullopt);
  EXPECT_TRUE(gpus.devices.empty());
  EXPECT_EQ(gpus.driver_version.reason, "driver: Not Supported");
}

TEST(ReadGpus, VisibleDevicesAsCudaReadsThem) {
  using Indices = std::vector<std::int64_t>;
  FakeNvml nvml = cards(4);
  EXPECT_EQ(visible(read_gpus(nvml, "0,2")), (Indices{0, 2}));
  EXPECT_EQ(visible(read_gpus(nvml, " 3 , 1")), (Indices{1, 3}));
  EXPECT_EQ(visible(read_gpus(nvml, "")), Indices{});
  EXPECT_EQ(visible(read_gpus(nvml, "-1")), Indices{});
  EXPECT_EQ(visible(read_gpus(nvml, "NoDevFiles")), Indices{});
  EXPECT_EQ(visible(read_gpus(nvml, "1,9,2")), Indices{1});  // the first wrong one ends the list
  EXPECT_EQ(visible(read_gpus(nvml, "1,1")), Indices{});     // twice the same: none
  EXPECT_EQ(visible(read_gpus(nvml, "GPU-2aaaaaaa")), Indices{2});
  EXPECT_EQ(visible(read_gpus(nvml, "GPU-")), Indices{});  // fits more than one
  nvml.cards[3].mig = true;
  EXPECT_EQ(visible(read_gpus(nvml, "MIG-1234")), Indices{3});
}

TEST(LoadNvml, AnswersOrSaysWhyNot) {
  const auto nvml = load_nvml();
  if (!nvml) {
    EXPECT_THAT(nvml.error().message, ::testing::Not(::testing::IsEmpty()));
    return;
  }
  EXPECT_TRUE((*nvml)->count());
}

}  // namespace
}  // namespace sluice::env::gpu_test
