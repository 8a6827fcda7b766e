// sluice/train/profile/kernel_name.h - names of kernels, ours and other people's: readable, and
// what kind of work they are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sluice::train {

/// Demangled where it is mangled, without return type, parameters and our namespaces:
/// "rms_norm_forward_kernel<__nv_bfloat16, float, 3>".
std::string readable_kernel(const std::string& name);

/// One of kKernelCategories, by parts of the name (mangled or not): of our kernels, cuBLAS's,
/// CUTLASS's, PyTorch's and Triton's.
std::string_view kernel_category(std::string_view name);

inline constexpr std::string_view kKernelCategories[] = {
    "products", "attention", "norm", "activation", "optimizer", "copies", "other"};

}  // namespace sluice::train
