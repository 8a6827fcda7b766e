// tests/train/flops_test.cpp - counts against numbers worked out by hand, MFU, and the registry.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/flops.h"

#include "sluice/train/profile/peaks.h"
namespace sluice::train {
std::int64_t parameter_count(const ModelSpec& m);
}  // namespace sluice::train

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace sluice::train::flops_test {
namespace {

ModelSpec preset(std::string_view name) {
  auto model = find_model(name);
  EXPECT_TRUE(model.has_value()) << name;
  return *model;
}

std::int64_t forward_of(const ModelFlops& flops, std::string_view component) {
  for (const FlopItem& item : flops.items)
    if (item.component == component) return item.forward;
  ADD_FAILURE() << "no component " << component;
  return -1;
}

TEST(CountFlops, vit5_small_is_exact_and_every_component_too) {
  const ModelFlops flops = count_flops(preset("vit5-small"));
  EXPECT_EQ(flops.parameters, 22'010'112);
  EXPECT_EQ(flops.forward, 9'396'977'664);
  EXPECT_EQ(flops.train, 28'190'932'992);
  EXPECT_EQ(forward_of(flops, "patch embedding"), 115'605'504);
  EXPECT_EQ(forward_of(flops, "qkv"), 2'133'983'232);
  EXPECT_EQ(forward_of(flops, "attention"), 744'671'232);
  EXPECT_EQ(forward_of(flops, "projection"), 711'327'744);
  EXPECT_EQ(forward_of(flops, "mlp"), 5'690'621'952);
  EXPECT_EQ(forward_of(flops, "head"), 768'000);
}

TEST(CountFlops, the_other_vits) {
  EXPECT_EQ(count_flops(preset("vit5-tiny")).parameters, 5'697'408);
  EXPECT_EQ(count_flops(preset("vit5-base")).parameters, 86'486'016);
  EXPECT_NEAR(static_cast<double>(count_flops(preset("vit5-base")).forward), 35.866e9, 5e5);
}

TEST(CountFlops, gpt_by_hand) {
  ModelSpec model = preset("gpt-tiny");  // 128, 4 layers, 4 heads, 4096 ids, 128 tokens
  const std::int64_t blocks = 4 * (12 * 128 * 128 + 2 * 128 + 2 * 32) + 128;
  const std::int64_t products = 4 * (24 * 128LL * 128 * 128 + 4 * 128LL * 128 * 128);
  const std::int64_t head = 2 * 128LL * 128 * 4096;
  const ModelFlops tied = count_flops(model);
  EXPECT_EQ(tied.parameters, blocks + 128 * 4096);
  EXPECT_EQ(tied.non_embedding_parameters, tied.parameters);  // the table is the head
  EXPECT_EQ(tied.forward, products + head);

  model.tied_head = false;
  const ModelFlops untied = count_flops(model);
  EXPECT_EQ(untied.parameters, blocks + 2 * 128 * 4096);
  EXPECT_EQ(untied.non_embedding_parameters, tied.parameters);
  EXPECT_EQ(untied.forward, tied.forward);
}

TEST(CountFlops, lookups_are_no_parameters_of_6nd) {
  const ModelFlops flops = count_flops(preset("vit5-small"));
  EXPECT_EQ(flops.non_embedding_parameters, 22'010'112 - 75'264 - 384 - 1'536);
}

TEST(CountFlops, parameters_equal_those_of_the_program) {
  for (ModelSpec model : model_presets()) {
    EXPECT_EQ(count_flops(model).parameters, parameter_count(model)) << model.name;
    model.tied_head = false;
    model.registers = 9;
    EXPECT_EQ(count_flops(model).parameters, parameter_count(model)) << model.name;
  }
}

TEST(Estimators, names_go_there_and_back) {
  for (const char* name : {"6ND", "transformer_aware", "shapes"}) {
    const auto estimator = parse_mfu_estimator(name);
    ASSERT_TRUE(estimator.has_value());
    EXPECT_STREQ(to_string(*estimator), name);
  }
  const auto wrong = parse_mfu_estimator("6nd");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Errc::usage);
  EXPECT_NE(wrong.error().message.find("6ND, transformer_aware, shapes"), std::string::npos);
}

TEST(Estimators, of_a_gpt_they_agree_where_they_must) {
  const ModelSpec model = preset("gpt-small");
  const ModelFlops flops = count_flops(model);
  const double tokens = 4.0 * model.sequence;
  const auto n = static_cast<double>(flops.non_embedding_parameters);
  EXPECT_DOUBLE_EQ(step_flop(model, MfuEstimator::six_nd, 4), 6 * n * tokens);
  EXPECT_DOUBLE_EQ(step_flop(model, MfuEstimator::transformer_aware, 4),
                   6 * n * tokens + 12.0 * 12 * 768 * 1024 * tokens);
  EXPECT_DOUBLE_EQ(step_flop(model, MfuEstimator::shapes, 4), 4 * static_cast<double>(flops.train));
  // The two that count attention differ by the norms alone.
  EXPECT_NEAR(step_flop(model, MfuEstimator::transformer_aware, 4) /
                  step_flop(model, MfuEstimator::shapes, 4),
              1, 1e-3);
}

TEST(Mfu, the_known_example) {
  EXPECT_NEAR(mfu(flop_6nd(7e9, 131072), 1, 8, 989), 0.695782, 5e-7);
}

TEST(Mfu, published_rows_of_vit5_small) {
  const ModelSpec model = preset("vit5-small");
  const double flop = step_flop(model, MfuEstimator::shapes, 256);
  EXPECT_NEAR(flop, 7.21688e12, 1e7);
  EXPECT_NEAR(mfu(flop, 256 / 8003.0, 1, 989), 0.2281, 5e-5);
  EXPECT_NEAR(mfu(flop, 256 / 1608.0, 1, 989), 0.0458, 5e-5);
}

TEST(Mfu, nothing_below_zero_and_no_division_by_it) {
  EXPECT_EQ(mfu(1e12, 0, 1, 989), 0);
  EXPECT_EQ(mfu(1e12, 1, 1, 0), 0);
  EXPECT_EQ(mfu(-1, 1, 1, 989), 0);
  EXPECT_EQ(mfu(1e12, 1, 0, 989), 0);
}

TEST(Peaks, names_as_drivers_spell_them) {
  const auto bf16 = [](std::string_view name) {
    const auto peak = find_peak(name);
    return peak ? peak->tflops(PeakType::bf16) : -1;
  };
  EXPECT_EQ(bf16("NVIDIA H100 80GB HBM3"), 989);
  EXPECT_EQ(bf16("NVIDIA H100 PCIe"), 756);
  EXPECT_EQ(bf16("NVIDIA H100 NVL"), 835);
  EXPECT_EQ(bf16("NVIDIA H200"), 989);
  EXPECT_EQ(bf16("NVIDIA H200 NVL"), 835);
  EXPECT_EQ(bf16("nvidia h100-sxm5"), 989);
  EXPECT_EQ(bf16("NVIDIA A100-SXM4-80GB"), 312);
  EXPECT_EQ(bf16("NVIDIA GeForce RTX 4070 Ti SUPER"), 88.2);
  EXPECT_EQ(bf16("NVIDIA GeForce RTX 4070 Ti"), 80.2);
  EXPECT_EQ(bf16("NVIDIA GeForce RTX 3090"), 71.2);
  EXPECT_EQ(bf16("NVIDIA L40S"), 362);
  EXPECT_EQ(bf16("Tesla V100-SXM2-16GB"), 0);  // no such unit
  EXPECT_EQ(find_peak("Tesla V100-SXM2-16GB")->tflops(PeakType::fp16), 125);
  EXPECT_EQ(find_peak("NVIDIA H200")->tflops(PeakType::fp32), 67);
}

TEST(Peaks, near_names_are_unknown) {
  for (const char* name :
       {"", "cpu", "H100", "NVIDIA RTX A1000", "NVIDIA T400", "NVIDIA A10G", "NVIDIA A100X",
        "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"})
    EXPECT_FALSE(find_peak(name).has_value()) << name;
}

TEST(Peaks, unknown_says_how_to_give_it) {
  const auto peak = peak_tflops("Voodoo 2", PeakType::bf16);
  ASSERT_FALSE(peak.has_value());
  EXPECT_EQ(peak.error().code, Errc::unsupported);
  EXPECT_NE(peak.error().message.find("'Voodoo 2'"), std::string::npos);
  EXPECT_NE(peak.error().message.find("--peak-tflops"), std::string::npos);
  EXPECT_FALSE(peak_tflops("Tesla T4", PeakType::bf16).has_value());
  EXPECT_EQ(*peak_tflops("Tesla T4", PeakType::fp16), 65);
  EXPECT_FALSE(parse_peak_type("fp8").has_value());
}

TEST(Peaks, rows_are_dense_sourced_and_found_by_their_own_name) {
  std::set<std::string_view> names;
  for (const DevicePeak& peak : device_peaks()) {
    EXPECT_TRUE(names.insert(peak.device).second) << peak.device;
    EXPECT_FALSE(peak.source.empty()) << peak.device;
    EXPECT_GT(peak.fp16, peak.fp32) << peak.device;
    EXPECT_TRUE(peak.bf16 == peak.fp16 || peak.bf16 == 0) << peak.device;
    const auto found = find_peak(peak.device);
    ASSERT_TRUE(found.has_value()) << peak.device;
    EXPECT_EQ(found->device, peak.device);
  }
}

}  // namespace
}  // namespace sluice::train::flops_test
