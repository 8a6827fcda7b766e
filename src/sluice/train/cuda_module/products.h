// sluice/train/cuda_module/products.h - matrix products: cuBLASLt with the fastest of its
// algorithms, a plain kernel for what it does not take.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/kernels.h"
#include "sluice/train/cuda_module/launch.h"

#include <string>
#include <string_view>

namespace sluice::train::cuda {

struct Device;

/// The first product of a kind (sizes, types, layouts, alignments) times the algorithms on its own
/// operands, unless one was offered for it; the choice holds for the process. Not while calls are
/// captured.
int multiply(Device& device, const Product& product);

/// See table.h.
std::string choices(const Device& device);
void offer_choices(const Device& device, std::string_view text);

/// One thread per element of d, any type, k of 0.
cudaError_t multiply_plain(const Product& product, const Launch& on);

}  // namespace sluice::train::cuda
