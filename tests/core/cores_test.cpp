// tests/core/cores_test.cpp - cgroup files of both versions, from text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/cores.h"

#include "sluice/core/thread_pool.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::cores_test {
namespace {

std::optional<double> quota_with(const std::map<std::string, std::string>& files) {
  return cgroup_cpu_quota([&](const std::string& path) -> std::optional<std::string> {
    const auto it = files.find(path);
    if (it == files.end()) return std::nullopt;
    return it->second;
  });
}

TEST(CpuMax, ReadsQuotaOverPeriod) {
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 1.5);
  EXPECT_EQ(parse_cpu_max("max 100000\n"), std::nullopt);
  for (const char* text :
       {"", "max", "100000", "a b", "-1 100000", "100000 0", "1 2 3", "1e5 100000"}) {
    EXPECT_EQ(parse_cpu_max(text), std::nullopt) << text;
  }
}

TEST(CfsQuota, MinusOneIsNoLimit) {
  EXPECT_EQ(parse_cfs_quota("200000\n", "100000\n"), 2.0);
  EXPECT_EQ(parse_cfs_quota("-1\n", "100000\n"), std::nullopt);
  EXPECT_EQ(parse_cfs_quota("", ""), std::nullopt);
}

TEST(CgroupQuota, TakesTheStrictestOfGroupAndParents) {
  EXPECT_EQ(quota_with({{"/proc/self/cgroup", "0::/a/b\n"},
                        {"/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"},
                        {"/sys/fs/cgroup/a/cpu.max", "250000 100000\n"},
                        {"/sys/fs/cgroup/cpu.max", "max 100000\n"}}),
            2.5);
}

TEST(CgroupQuota, SeesTheRootOfAContainer) {
  EXPECT_EQ(
      quota_with({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "200000 100000\n"}}),
      2.0);
}

TEST(CgroupQuota, ReadsVersionOne) {
  EXPECT_EQ(quota_with({{"/proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/docker/x\n"},
                        {"/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "50000\n"},
                        {"/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n"}}),
            0.5);
  EXPECT_EQ(
      quota_with({{"/proc/self/cgroup", "4:cpu,cpuacct:/x\n"},  // mounted under its short name
                  {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"},
                  {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}),
      3.0);
}

TEST(CgroupQuota, IsAbsentWithoutFilesOrWithOddOnes) {
  EXPECT_EQ(quota_with({}), std::nullopt);
  EXPECT_EQ(quota_with({{"/proc/self/cgroup", "garbage\n\n1:\n:::\n0::no-slash\n"}}), std::nullopt);
}

TEST(UsableCores, IsAtLeastOneAndWithinTheAffinityMask) {
  EXPECT_GE(usable_cores(), 1U);
  if (const auto mask = affinity_cores()) {
    EXPECT_GE(*mask, 1U);
    EXPECT_LE(usable_cores(), *mask);
  }
}

}  // namespace
}  // namespace sluice::cores_test
