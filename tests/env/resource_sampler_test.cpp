// tests/env/resource_sampler_test.cpp - a machine that changes between looks.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/resource_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/fixture.h"
#include <algorithm>
#include <unistd.h>

namespace sluice::env::resource_sampler_test {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

/// Two cores of four, busy for so many seconds each since boot; the others work all the time.
void set_busy(fixture::Tree& tree, double seconds) {
  const auto ticks = static_cast<long>(seconds * static_cast<double>(sysconf(_SC_CLK_TCK)));
  std::string text = "cpu  1 2 3 4 5 6 7 8 0 0\n";
  for (int cpu = 0; cpu < 4; ++cpu)
    text +=
        fmt::format("cpu{} {} 0 0 100 0 0 0 0 0 0\n", cpu, cpu < 2 ? ticks : 1'000'000 + ticks * 9);
  tree.file("/proc/stat", text);
}

void set_memory(fixture::Tree& tree, int available_kib) {
  tree.file("/proc/meminfo",
            fmt::format("MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable: {} kB\n", available_kib));
}

TEST(ResourceLooks, SharesOfTheCoresThatThisProcessMayUse) {
  fixture::Tree tree;
  fixture::add_cores(tree, 4, "0-1");
  set_memory(tree, 900);
  set_busy(tree, 10);
  ResourceLooks looks(nullptr, 0, tree.root());
  EXPECT_FALSE(looks.look(0));
  EXPECT_TRUE(looks.samples().at_s.empty());
  set_busy(tree, 10.5);
  set_memory(tree, 400);
  looks.look(1);
  looks.look(2);  // nothing moved
  const ResourceSamples& seen = looks.samples();
  EXPECT_THAT(seen.at_s, ElementsAre(1, 2));
  EXPECT_THAT(seen.cpu, ElementsAre(DoubleEq(0.5), DoubleEq(0)));
  EXPECT_THAT(seen.ram, ElementsAre(600 * 1024, 600 * 1024));
  EXPECT_EQ(seen.ram_total, 1000 * 1024);
  EXPECT_EQ(seen.cores, 2);
  EXPECT_TRUE(seen.gpu.empty());
}

TEST(ResourceLooks, ALongRunLeavesAShortList) {
  fixture::Tree tree;
  fixture::add_cores(tree, 2, "0-1");
  set_memory(tree, 500);
  set_busy(tree, 0);
  ResourceLooks looks(nullptr, 0, tree.root());
  looks.look(0);
  double at_s = 0;
  int halved = 0;
  for (int i = 0; i < 1000; ++i)
    halved += looks.look(++at_s) ? 1 : 0;
  EXPECT_GT(halved, 1);
  const ResourceSamples& seen = looks.samples();
  EXPECT_LT(seen.at_s.size(), ResourceLooks::kMost);
  EXPECT_GE(seen.at_s.size(), ResourceLooks::kMost / 2);
  EXPECT_EQ(seen.cpu.size(), seen.at_s.size());
  EXPECT_EQ(seen.ram.size(), seen.at_s.size());
  EXPECT_EQ(seen.at_s.back(), 1000);
  EXPECT_TRUE(std::is_sorted(seen.at_s.begin(), seen.at_s.end()));
}

TEST(ResourceLooks, AGpuIsWatchedBesideTheRest) {
  fixture::Tree tree;
  fixture::add_cores(tree, 2, "0-1");
  set_memory(tree, 500);
  set_busy(tree, 0);
  auto silent = std::make_unique<fixture::FakeNvml>();
  silent->cards.resize(1);
  ResourceLooks looks(std::move(silent), 0, tree.root());
  looks.look(0);
  looks.look(1);
  // This one tells neither utilisation nor memory in use: there is no line of it, and no zeros.
  EXPECT_TRUE(looks.samples().gpu.empty());
  EXPECT_EQ(looks.samples().gpu_ram_total, 0);
}

TEST(ResourceSampler, AVisitOfAMomentHasOneMoment) {
  ResourceSampler sampler{ResourceLooks(nullptr, 0)};
  const ResourceSamples seen = sampler.stop();
  EXPECT_GE(seen.at_s.size(), 1U);
  EXPECT_GT(seen.ram_total, 0);
  EXPECT_GT(seen.cores, 0);
}

}  // namespace
}  // namespace sluice::env::resource_sampler_test
