// tests/env/gpu_sampler_test.cpp - what is kept of a device that is busy at some looks only.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/gpu_sampler.h"

#include <gtest/gtest.h>

#include "tests/env/fixture.h"
#include <utility>

namespace sluice::env::gpu_sampler_test {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;

std::unique_ptr<fixture::FakeNvml> device(std::vector<unsigned> busy) {
  auto nvml = std::make_unique<fixture::FakeNvml>();
  nvml->cards.resize(1);
  nvml->busy = std::move(busy);
  return nvml;
}

TEST(GpuSampler, TheClockIsThatOfABusyDevice) {
  // start() asks once whether it tells, and looks once.
  const auto sampler = GpuSampler::start(device({0, 100}), 0, 1h);
  ASSERT_TRUE(sampler) << sampler.error().message;
  const GpuSamples seen = (*sampler)->stop();
  EXPECT_EQ(seen.count, 1);
  EXPECT_EQ(seen.mean_utilisation, 1);
  ASSERT_TRUE(seen.clock);
  EXPECT_EQ(seen.clock->mhz, 345);
  EXPECT_EQ(seen.clock->highest_mhz, 1980);
  EXPECT_EQ(seen.clock->watts, 690);
  EXPECT_EQ(seen.clock->limit_watts, 700);
  EXPECT_EQ(seen.clock->held_by_power, 1);
}

TEST(GpuSampler, AnIdleDeviceHasNoClockWorthATable) {
  const auto sampler = GpuSampler::start(device({100, 20}), 0, 1h);
  ASSERT_TRUE(sampler);
  EXPECT_FALSE((*sampler)->stop().clock);
}

TEST(GpuSampler, ADeviceThatDoesNotTellItsPowerHasNone) {
  for (const char* question : {"power", "power_now", "held", "clock", "max_clock"}) {
    auto nvml = device({100});
    nvml->failing = {question};
    const auto sampler = GpuSampler::start(std::move(nvml), 0, 1h);
    ASSERT_TRUE(sampler);
    const GpuSamples seen = (*sampler)->stop();
    EXPECT_FALSE(seen.clock) << question;
    EXPECT_EQ(seen.count, 1);
  }
}

TEST(GpuSampler, ADeviceThatTellsNothingIsRefused) {
  EXPECT_FALSE(GpuSampler::start(device({}), 0, 1ms));
}

}  // namespace
}  // namespace sluice::env::gpu_sampler_test
