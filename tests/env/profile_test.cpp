// tests/env/profile_test.cpp - the machine profile, table by table.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/profile.h"

#include "sluice/env/machine.h"

#include <gtest/gtest.h>

#include "tests/env/fixture.h"

namespace sluice::env::profile_test {
namespace {

ProfileOptions native() {
  ProfileOptions options;
  options.framework = framework_sluice(1);
  return options;
}

Environment of(const SystemRoot& root) {
  Environment environment;
  environment.cpu = read_cpu(root);
  environment.cores = read_cores(root, {});
  return environment;
}

Environment with_gpus(std::vector<fixture::FakeNvml::Card> cards) {
  fixture::FakeNvml nvml;
  nvml.cards = std::move(cards);
  Environment environment;
  environment.gpu = read_gpus(nvml, std::nullopt);
  return environment;
}

fixture::FakeNvml::Card card(const std::string& name, int capability, bool mig = false) {
  fixture::FakeNvml::Card result;
  result.name = name;
  result.capability = capability;
  result.mig = mig;
  return result;
}

TEST(MachineProfile, CpuForms) {
  fixture::Tree intel;
  fixture::add_intel(intel);
  EXPECT_EQ(machine_profile(of(intel.root()), native()), "cpu-intel-6.143.8-amx-l3105x8_sluice1");
  fixture::Tree amd;
  fixture::add_amd(amd);
  EXPECT_EQ(machine_profile(of(amd.root()), native()), "cpu-amd-23.49.0-avx2-l316x64_sluice1");
  fixture::Tree arm;
  fixture::add_neoverse(arm, "fp asimd");
  EXPECT_EQ(machine_profile(of(arm.root()), native()), "cpu-arm-41.d40.r1p1-neon-l332x2_sluice1");
  fixture::Tree nothing;
  EXPECT_EQ(machine_profile(of(nothing.root()), native()),
            "cpu-other-na.na.na-scalar-l3nax1_sluice1");
}

TEST(MachineProfile, OtherCoresOtherProfile) {
  fixture::Tree tree;
  fixture::add_intel(tree);
  const std::string all = machine_profile(of(tree.root()), native());
  EXPECT_EQ(machine_profile(of(tree.root()), native()), all);
  tree.file("/proc/self/status", "Cpus_allowed_list: 0-3\n");
  EXPECT_EQ(machine_profile(of(tree.root()), native()), "cpu-intel-6.143.8-amx-l3105x4_sluice1");
}

TEST(MachineProfile, GpuForms) {
  const auto h100 = card("NVIDIA H100 80GB HBM3", 90);
  ProfileOptions torch;
  torch.framework = framework_torch("2.4.1+cu124");
  EXPECT_EQ(machine_profile(with_gpus({8, h100}), torch),
            "H100x8_driver550_cuda12.4_torch2.4_sm90");
  EXPECT_EQ(machine_profile(with_gpus({h100}), native()), "H100x1_driver550_cuda12.4_sluice1_sm90");
  torch.cuda_version = "12.1.105";
  EXPECT_EQ(machine_profile(with_gpus({h100}), torch), "H100x1_driver550_cuda12.1_torch2.4_sm90");
  EXPECT_EQ(machine_profile(with_gpus({card("NVIDIA H200", 90, true)}), native()),
            "H200MIGx1_driver550_cuda12.4_sluice1_sm90");
  EXPECT_EQ(machine_profile(
                with_gpus({card("NVIDIA GeForce RTX 4090", 89), card("NVIDIA A100-SXM4-80GB", 80),
                           card("NVIDIA GeForce RTX 4090", 89)}),
                native()),
            "A100SXM480x1-RTX4090x2_driver550_cuda12.4_sluice1_sm80-89");
}

TEST(MachineProfile, TheCpuFormCanBeAskedForAndHiddenGpusDoNotCount) {
  Environment environment = with_gpus({card("NVIDIA H200", 90), card("NVIDIA H200", 90)});
  ProfileOptions options = native();
  options.device = ProfileDevice::cpu;
  EXPECT_EQ(machine_profile(environment, options).rfind("cpu-", 0), 0U);
  environment.gpu.devices[0].visible = false;
  EXPECT_EQ(machine_profile(environment, native()), "H200x1_driver550_cuda12.4_sluice1_sm90");
  environment.gpu.devices[1].visible = false;
  EXPECT_EQ(machine_profile(environment, native()).rfind("cpu-", 0), 0U);
}

TEST(MachineProfile, UnknownPartsAndHostileNamesStaySafe) {
  Environment environment = with_gpus({card("../../etc/passwd \n$(x)", 90)});
  environment.gpu.driver_version = Known<std::string>::unknown("?");
  environment.gpu.cuda_version = std::string("12/4");
  environment.gpu.devices[0].compute_capability = Known<std::string>::unknown("?");
  ProfileOptions options;
  options.framework = "a b/c";
  const std::string profile = machine_profile(environment, options);
  EXPECT_TRUE(fixture::is_file_name(profile)) << profile;
  EXPECT_EQ(profile, "etcpasswdxx1_driverna_cuda12_a-b-c_smna");
}

TEST(ShortGpuName, DropsBrandsAndKeepsWhatTellsModelsApart) {
  EXPECT_EQ(short_gpu_name("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(short_gpu_name("NVIDIA H100 PCIe"), "H100PCIe");
  EXPECT_EQ(short_gpu_name("NVIDIA A100-SXM4-40GB"), "A100SXM440");
  EXPECT_EQ(short_gpu_name("NVIDIA A100-SXM4-80GB"), "A100SXM480");
  EXPECT_EQ(short_gpu_name("Tesla V100-SXM2-16GB"), "V100SXM216");
  EXPECT_EQ(short_gpu_name("Tesla T4"), "T4");
  EXPECT_EQ(short_gpu_name("NVIDIA GeForce GTX 1080 Ti"), "1080Ti");
  EXPECT_EQ(short_gpu_name("Quadro RTX 8000"), "RTX8000");
  EXPECT_EQ(short_gpu_name("NVIDIA"), "GPU");
  EXPECT_EQ(short_gpu_name(""), "GPU");
  EXPECT_EQ(short_gpu_name(std::string(100, 'a')).size(), 20U);
}

TEST(Framework, TorchKeepsMajorAndMinor) {
  EXPECT_EQ(framework_torch("2.4.1+cu124"), "torch2.4");
  EXPECT_EQ(framework_torch("2.10"), "torch2.10");
  EXPECT_EQ(framework_torch("3"), "torch3");
  EXPECT_EQ(framework_torch(""), "torchna");
  EXPECT_EQ(framework_sluice(7), "sluice7");
}

}  // namespace
}  // namespace sluice::env::profile_test
