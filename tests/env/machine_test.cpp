// tests/env/machine_test.cpp - CPU, cores, control groups, frequency, memory and host from fixture
// trees.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/fixture.h"

namespace sluice::env::machine_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(ReadCpu, IntelWithAvx512AndAmx) {
  fixture::Tree tree;
  fixture::add_intel(tree);
  const Cpu cpu = read_cpu(tree.root());
  EXPECT_EQ(*cpu.architecture, "x86_64");
  EXPECT_EQ(*cpu.vendor, "intel");
  EXPECT_EQ(*cpu.model_name, "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz");
  EXPECT_EQ(*cpu.family, 6);  // the second core's 999 must not be read
  EXPECT_EQ(*cpu.model, 143);
  EXPECT_EQ(*cpu.stepping, 8);
  EXPECT_EQ(*cpu.microcode, "0x2b000590");
  EXPECT_EQ(cpu.isa, "amx");
  EXPECT_THAT(cpu.flags, Contains("avx512vbmi"));
  EXPECT_THAT(cpu.flags, ::testing::Not(Contains("fpu")));
  EXPECT_EQ(*cpu.l1d_bytes, 48 * 1024);
  EXPECT_EQ(*cpu.l1i_bytes, 32 * 1024);
  EXPECT_EQ(*cpu.l2_bytes, 2048 * 1024);
  EXPECT_EQ(*cpu.l3_bytes, 107520 * 1024);
  EXPECT_THAT(cpu.part.reason, HasSubstr("aarch64"));
}

TEST(ReadCpu, Amd) {
  fixture::Tree tree;
  fixture::add_amd(tree);
  const Cpu cpu = read_cpu(tree.root());
  EXPECT_EQ(*cpu.vendor, "amd");
  EXPECT_EQ(*cpu.family, 23);
  EXPECT_EQ(*cpu.model, 49);
  EXPECT_EQ(*cpu.stepping, 0);
  EXPECT_EQ(cpu.isa, "avx2");
  EXPECT_FALSE(cpu.l2_bytes);
  EXPECT_THAT(cpu.l2_bytes.reason, HasSubstr("no such cache"));
}

TEST(ReadCpu, Neoverse) {
  fixture::Tree tree;
  fixture::add_neoverse(tree);
  const Cpu cpu = read_cpu(tree.root());
  EXPECT_EQ(*cpu.architecture, "aarch64");
  EXPECT_EQ(*cpu.vendor, "arm");
  EXPECT_EQ(*cpu.model_name, "Neoverse-V1");
  EXPECT_EQ(*cpu.implementer, "41");
  EXPECT_EQ(*cpu.part, "d40");
  EXPECT_EQ(*cpu.variant, 1);
  EXPECT_EQ(*cpu.revision, 1);
  EXPECT_EQ(cpu.isa, "sve");
  EXPECT_FALSE(cpu.family);
}

TEST(ReadCpu, NothingThere) {
  fixture::Tree tree;
  const Cpu cpu = read_cpu(tree.root());
  EXPECT_FALSE(cpu.architecture);
  EXPECT_EQ(cpu.vendor.reason, "/proc/cpuinfo is absent");
  EXPECT_EQ(cpu.isa, "scalar");
  EXPECT_FALSE(cpu.l3_bytes);
}

TEST(ReadCpu, WeirdContents) {
  fixture::Tree tree;
  tree.file("/proc/cpuinfo", std::string("vendor_id : Ev\x1bil\xff\ncpu family: lots\nmodel:\n") +
                                 std::string(3, '\0') + "flags : avx2\n");
  fixture::add_cache(tree, 0, 3, "Unified", "a lot");
  fixture::add_cache(tree, 1, 2, "Unified", "99999999999999999999K");
  const Cpu cpu = read_cpu(tree.root());
  EXPECT_THAT(cpu.family.reason, HasSubstr("'lots', not a number"));
  EXPECT_FALSE(cpu.model);
  EXPECT_FALSE(cpu.l3_bytes);
  EXPECT_FALSE(cpu.l2_bytes);
  EXPECT_EQ(cpu.vendor->find('\x1b'), std::string::npos);
}

TEST(IsaLevel, HighestOfTheList) {
  EXPECT_EQ(isa_level("fpu"), "scalar");
  EXPECT_EQ(isa_level("sse4_1"), "sse4");
  EXPECT_EQ(isa_level("sse4_1 sse4_2 avx"), "sse4");
  EXPECT_EQ(isa_level("sse4_2 avx2"), "avx2");
  EXPECT_EQ(isa_level("avx2 avx512f"), "avx2");  // Xeon Phi's half of AVX-512 does not count
  EXPECT_EQ(isa_level("avx2 avx512f avx512bw avx512dq avx512vl"), "avx512");
  EXPECT_EQ(isa_level("avx512f avx512bw avx512dq avx512vl avx512vbmi"), "avx512vbmi");
  EXPECT_EQ(isa_level("avx512f avx512bw avx512dq avx512vl avx512vbmi amx_tile amx_int8"), "amx");
  EXPECT_EQ(isa_level("fp asimd"), "neon");
  EXPECT_EQ(isa_level("fp asimd sve"), "sve");
}

TEST(ReadCores, AffinityNarrowsWhatIsVisible) {
  fixture::Tree tree;
  fixture::add_cores(tree, 8, "2-3,6");
  const Cores cores = read_cores(tree.root(), {});
  EXPECT_EQ(*cores.visible, 8);
  EXPECT_EQ(*cores.affinity, "2-3,6");
  EXPECT_EQ(*cores.in_affinity, 3);
  EXPECT_EQ(cores.usable, 3);
}

TEST(ReadCores, AMaskWiderThanTheMachine) {
  fixture::Tree tree;
  fixture::add_cores(tree, 4, "0-127");
  const Cores cores = read_cores(tree.root(), {});
  EXPECT_EQ(*cores.affinity, "0-3");
  EXPECT_EQ(cores.usable, 4);
}

TEST(ReadCores, AQuotaIsRoundedDownButNeverToNothing) {
  fixture::Tree tree;
  fixture::add_cores(tree, 8, "0-7");
  CgroupLimits limits;
  limits.quota_cores = 2.5;
  EXPECT_EQ(read_cores(tree.root(), limits).usable, 2);
  limits.quota_cores = 0.2;
  EXPECT_EQ(read_cores(tree.root(), limits).usable, 1);
  limits.quota_cores = 100.0;
  EXPECT_EQ(read_cores(tree.root(), limits).usable, 8);
}

TEST(ReadCores, CountsInCpuinfoWhereSysIsMissing) {
  fixture::Tree tree;
  tree.file("/proc/cpuinfo", "processor : 0\n\nprocessor : 1\n\nprocessor : 2\n");
  const Cores cores = read_cores(tree.root(), {});
  EXPECT_EQ(*cores.visible, 3);
  EXPECT_FALSE(cores.affinity);
  EXPECT_EQ(cores.usable, 3);
}

TEST(ReadCores, NothingThereIsOneCore) {
  fixture::Tree tree;
  const Cores cores = read_cores(tree.root(), {});
  EXPECT_FALSE(cores.visible);
  EXPECT_EQ(cores.usable, 1);
  EXPECT_EQ(allowed_cpus(tree.root()), (std::vector<int>{0}));
}

TEST(Cgroup, Version2TakesTheTightestOnTheWayUp) {
  fixture::Tree tree;
  tree.file("/proc/self/cgroup", "0::/a/b\n")
      .file("/proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n")
      .file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
      .file("/sys/fs/cgroup/a/cpu.max", "250000 100000\n")
      .file("/sys/fs/cgroup/a/b/memory.max", "8589934592\n")
      .file("/sys/fs/cgroup/a/memory.max", "4294967296\n")
      .file("/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 7\n");
  const CgroupLimits limits = read_cgroup_limits(tree.root());
  EXPECT_DOUBLE_EQ(*limits.quota_cores, 2.5);
  EXPECT_EQ(*limits.memory_bytes, 4294967296);
  EXPECT_EQ(*limits.throttled_periods, 7);
}

TEST(Cgroup, Version1) {
  fixture::Tree tree;
  tree.file("/proc/self/cgroup", "3:cpu,cpuacct:/docker/x\n2:memory:/docker/x\n0::/\n")
      .file("/proc/self/mountinfo",
            "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
            "32 30 0:28 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "150000\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.stat", "nr_throttled 3\n")
      .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  const CgroupLimits limits = read_cgroup_limits(tree.root());
  EXPECT_DOUBLE_EQ(*limits.quota_cores, 1.5);
  EXPECT_EQ(*limits.memory_bytes, 1073741824);
  EXPECT_EQ(*limits.throttled_periods, 3);
}

TEST(Cgroup, NoLimitIsNotKnownAndSaysSo) {
  fixture::Tree tree;
  tree.file("/proc/self/cgroup", "2:memory:/\n1:cpu:/\n")
      .file("/proc/self/mountinfo",
            "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
            "32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
      .file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
      .file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
      .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const CgroupLimits limits = read_cgroup_limits(tree.root());
  EXPECT_EQ(limits.quota_cores.reason, "no limit set");
  EXPECT_EQ(limits.memory_bytes.reason, "no limit set");
}

TEST(Cgroup, BrokenFilesAreNoLimits) {
  fixture::Tree tree;
  tree.file("/proc/self/cgroup", "garbage\n0::/../../elsewhere\n:::\n")
      .file("/proc/self/mountinfo", "short line\n30 23 0:26 / /sys/fs/cgroup rw - cgroup2 c rw\n")
      .file("/sys/fs/cgroup/cpu.max", "many few\n")
      .file("/sys/fs/cgroup/memory.max", "-5\n");
  const CgroupLimits limits = read_cgroup_limits(tree.root());
  EXPECT_FALSE(limits.quota_cores);
  EXPECT_FALSE(limits.memory_bytes);
  EXPECT_FALSE(limits.throttled_periods);
}

TEST(ReadFrequency, OneGovernorOrAMixture) {
  fixture::Tree tree;
  fixture::add_intel(tree);
  Frequency frequency = read_frequency(tree.root());
  EXPECT_EQ(*frequency.governor, "powersave");
  EXPECT_EQ(*frequency.driver, "intel_pstate");
  EXPECT_EQ(*frequency.min_khz, 800000);
  EXPECT_EQ(*frequency.max_khz, 3800000);
  EXPECT_TRUE(*frequency.turbo);
  tree.file("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance\n");
  EXPECT_EQ(*read_frequency(tree.root()).governor, "mixed: performance, powersave");
  tree.file("/proc/self/status", "Cpus_allowed_list: 3\n");
  EXPECT_EQ(*read_frequency(tree.root()).governor, "performance");
}

TEST(ReadFrequency, WithoutCpufreqEachFieldSaysWhy) {
  fixture::Tree tree;
  const Frequency frequency = read_frequency(tree.root());
  EXPECT_THAT(frequency.governor.reason, HasSubstr("scaling_governor is absent"));
  EXPECT_FALSE(frequency.turbo);
  EXPECT_FALSE(frequency.turbo.reason.empty());
}

TEST(ReadMemory, KilobytesBecomeBytes) {
  fixture::Tree tree;
  tree.file(
      "/proc/meminfo",
      "MemTotal:       16384 kB\nMemAvailable:    8192 kB\nSwapTotal: 0 kB\nSwapFree: x kB\n");
  const Memory memory = read_memory(tree.root(), {});
  EXPECT_EQ(*memory.total_bytes, 16384 * 1024);
  EXPECT_EQ(*memory.available_bytes, 8192 * 1024);
  EXPECT_EQ(*memory.swap_total_bytes, 0);
  EXPECT_FALSE(memory.swap_free_bytes);
}

TEST(ReadHost, KernelDistributionAndHints) {
  fixture::Tree tree;
  fixture::add_intel(tree);
  tree.file("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n")
      .file("/etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n")
      .file("/.dockerenv", "");
  const Host host = read_host(tree.root());
  EXPECT_EQ(*host.kernel, "6.1.0-18-amd64");
  EXPECT_EQ(*host.distribution, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(host.container, "docker");
  EXPECT_EQ(host.virtualisation, "google compute engine");
}

TEST(ReadHost, HintsFromLittle) {
  fixture::Tree tree;
  EXPECT_EQ(read_host(tree.root()).container, "none");
  EXPECT_EQ(read_host(tree.root()).virtualisation, "none");
  EXPECT_EQ(read_host(tree.root()).distribution.reason, "/usr/lib/os-release is absent");
  tree.file("/proc/1/cgroup", "0::/kubepods/besteffort/pod1\n");
  tree.file("/sys/bus/virtio/devices/virtio0/x", "");
  EXPECT_EQ(read_host(tree.root()).container, "kubernetes");
  EXPECT_EQ(read_host(tree.root()).virtualisation, "unknown hypervisor");
}

}  // namespace
}  // namespace sluice::env::machine_test
