// sluice/train/cuda_module/attention_plain.cuh - the fused calls without tensor cores: any type,
// head_dim up to 256, any span.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/launch.h"

namespace sluice::train::cuda {

cudaError_t launch_plain(const QkvAttentionCall& call, const Launch& on);
cudaError_t launch_plain(const QkvAttentionBackwardCall& call, const Launch& on);

}  // namespace sluice::train::cuda
