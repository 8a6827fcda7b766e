// tests/train/kernel_forms_test.cpp - which forms of kernels are in force on which device, in
// words.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/forms.h"
#include "sluice/train/cuda/library.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sluice::train::cuda::kernel_forms_test {
namespace {

constexpr KernelForm kForms[] = {
    {"product", "cuBLASLt", 80, 999, "most"}, {"product", "portable", 80, 999, "the rest"},
    {"attention", "wgmma", 90, 90, "all"},    {"attention", "mma.sync", 80, 999, "all"},
    {"norm", "portable", 80, 999, "all"},
};

std::string in_force(int capability) {
  std::string text;
  for (const FormInForce& form : forms_for(kForms, capability))
    if (form.in_force) text += form.kernel + " " + form.form + "; ";
  return text;
}

TEST(KernelForms, TheDeviceDecides) {
  EXPECT_EQ(in_force(90), "product cuBLASLt; product portable; attention wgmma; norm portable; ");
  for (const int capability : {80, 89, 100, 120})
    EXPECT_EQ(in_force(capability),
              "product cuBLASLt; product portable; attention mma.sync; norm portable; ");
  EXPECT_EQ(in_force(75), "");
}

TEST(KernelForms, InWordsAndAsJson) {
  const Result<DeviceForms> forms = DeviceForms{"cuda:0 Test, sm_90", forms_for(kForms, 90)};
  EXPECT_EQ(to_text(forms),
            "cuda:0 Test, sm_90: cuBLASLt (product), wgmma (attention), portable for the rest");
  const Json json = to_json(forms);
  EXPECT_EQ(json["forms"].size(), 5U);
  EXPECT_EQ(json["forms"][2]["in_force"], true);
  EXPECT_EQ(json["forms"][3]["in_force"], false);
  EXPECT_EQ(json["forms"][2]["min_sm"], 90);
  const Result<DeviceForms> none = Error{Errc::usage, "no driver"};
  EXPECT_EQ(to_text(none), "none: no driver");
  EXPECT_EQ(to_json(none)["reason"], "no driver");
}

TEST(KernelForms, EveryKernelOfTheModuleHasOneForAnything) {
  const auto table = library();
  if (!table) GTEST_SKIP() << table.error().message;
  const std::span<const KernelForm> forms((*table)->forms,
                                          static_cast<std::size_t>((*table)->form_count));
  std::set<std::string> kernels;
  for (const FormInForce& form : forms_for(forms, 80))
    if (form.in_force) kernels.insert(form.kernel);
  EXPECT_EQ(kernels.size(), std::variant_size_v<KernelCall> + 1);  // and the product
  EXPECT_TRUE(kernels.count("product") == 1 && kernels.count("qkv_attention_backward") == 1);
}

TEST(KernelForms, AttentionByWarpGroupsIsForHopperAndComesFirst) {
  const auto table = library();
  if (!table) GTEST_SKIP() << table.error().message;
  const std::span<const KernelForm> forms((*table)->forms,
                                          static_cast<std::size_t>((*table)->form_count));
  for (const std::string kernel : {"qkv_attention", "qkv_attention_backward"}) {
    const auto of = [&](int capability) {
      std::string text;
      for (const FormInForce& form : forms_for(forms, capability))
        if (form.in_force && form.kernel == kernel) text += form.form + "; ";
      return text;
    };
    EXPECT_EQ(of(90), "wgmma; wgmma pieces; mma.sync; portable; ") << kernel;
    for (const int capability : {80, 89, 100})
      EXPECT_EQ(of(capability), "mma.sync; portable; ") << kernel << " " << capability;
  }
}

TEST(KernelForms, WithoutADeviceTheReasonIsSaid) {
  const auto forms = forms_on(4711);
  ASSERT_FALSE(forms.has_value());
  EXPECT_NE(to_text(forms).find("cuda:4711"), std::string::npos) << to_text(forms);
}

}  // namespace
}  // namespace sluice::train::cuda::kernel_forms_test
