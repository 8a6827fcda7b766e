// sluice/train/cuda_module/forms.cpp - the list of forms; a new one is a line here.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/forms.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace sluice::train::cuda {
namespace {

constexpr const char *kHeads = "bf16, heads of 32, 64 and 128",
                     *kWide = "bf16, 193 to 208 tokens, heads of 64, not causal",
                     *kLong = "bf16, more than 208 tokens, heads of 64",
                     *kEnding = "bf16, dim in 128s, hidden in 256s";

/// Beside the form that takes anything. One for sm_90a alone has least = most = 90.
constexpr KernelForm kSpecial[] = {
    {"product", "cuBLASLt", 80, 999, "all that it has an algorithm for"},
    {"qkv_attention", "wgmma", 90, 90, kWide},
    {"qkv_attention", "wgmma pieces", 90, 90, kLong},
    {"qkv_attention", "mma.sync", 80, 999, kHeads},
    {"qkv_attention_backward", "wgmma", 90, 90, kWide},
    {"qkv_attention_backward", "wgmma pieces", 90, 90, kLong},
    {"qkv_attention_backward", "mma.sync", 80, 999, kHeads},
    {"product_gelu", "wgmma", 90, 90, kEnding},
    {"product_gelu_backward", "wgmma", 90, 90, kEnding},
    {"rms_norm", "in registers", 80, 999, "aligned rows of at most 256 vectors"},
    {"rms_norm_backward", "in registers", 80, 999, "aligned rows of at most 256 vectors"},
};

std::vector<KernelForm> all_forms() {
  std::vector<KernelForm> forms;
  std::vector<const char*> kernels{"product"};
  kernels.insert(kernels.end(), kKernelNames.begin(), kKernelNames.end());
  for (const char* kernel : kernels) {
    for (const KernelForm& form : kSpecial)
      if (std::string_view(form.kernel) == kernel) forms.push_back(form);
    const bool alone = forms.empty() || std::string_view(forms.back().kernel) != kernel;
    forms.push_back({kernel, "portable", 80, 999, alone ? "all" : "the rest"});
  }
  return forms;
}

}  // namespace

std::span<const KernelForm> kernel_forms() {
  static const std::vector<KernelForm> forms = all_forms();
  return forms;
}

}  // namespace sluice::train::cuda
