// sluice/train/cuda_module/product_gelu_sm90.cuh - products that end in GELU or its slope by warp
// groups: when those forms are there, and their launches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/launch.h"

namespace sluice::train::cuda {

inline constexpr int kKeptDepth = 384;  // of a weight that product_gelu_kept.cu has room for

template <class Call>
bool has_sm90_form(const Call& c, const Launch& on) {
  return on.architecture == 90 && ends_in_gelu(c.dim, c.hidden) && c.weight.type == Dtype::bf16;
}
cudaError_t launch_kept(const ProductGeluCall& call, const Launch& on);
cudaError_t launch_kept(const ProductGeluBackwardCall& call, const Launch& on);
cudaError_t launch_streamed(const ProductGeluCall& call, const Launch& on);
cudaError_t launch_streamed(const ProductGeluBackwardCall& call, const Launch& on);

}  // namespace sluice::train::cuda
