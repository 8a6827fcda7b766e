// sluice/train/cuda_module/forms.h - the kernels by name, and in which forms each is written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/table.h"

#include <array>
#include <span>
#include <variant>

namespace sluice::train::cuda {

/// In the order of KernelCall.
inline constexpr std::array kKernelNames{"patchify",
                                         "unpatchify",
                                         "assemble",
                                         "assemble_backward",
                                         "embed",
                                         "embed_backward",
                                         "rms_norm",
                                         "rms_norm_backward",
                                         "qk_norm_rope",
                                         "qk_norm_rope_backward",
                                         "attention",
                                         "attention_backward",
                                         "pack_turns",
                                         "qkv_attention",
                                         "qkv_attention_backward",
                                         "add_branch",
                                         "add_branch_backward",
                                         "gelu",
                                         "gelu_backward",
                                         "product_gelu",
                                         "product_gelu_backward",
                                         "read_out",
                                         "read_out_backward",
                                         "cross_entropy",
                                         "clear",
                                         "copy_weights",
                                         "fold_layer_scale",
                                         "update",
                                         "mix_images",
                                         "unpack"};
static_assert(kKernelNames.size() == std::variant_size_v<KernelCall>);

/// Every kernel of the list above and "product", each with at least the form that runs anywhere.
std::span<const KernelForm> kernel_forms();

}  // namespace sluice::train::cuda
