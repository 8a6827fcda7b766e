// sluice/train/cuda_module/attention_sm90.cuh - the fused attention by warp groups (wgmma.cuh):
// when it is there, and its launches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/launch.h"

namespace sluice::train::cuda {

inline constexpr int kWideTiles = 13, kWideRows = 16 * kWideTiles;  // 224 x 224 pixels, patches of 16

/// For a call that has_fused_form(): its 193 to 208 tokens are one step of the softmax.
inline bool has_sm90_form(const Heads& s, const Launch& on) {
  return on.architecture == 90 && s.head_dim == 64 && !s.causal && s.tokens <= kWideRows &&
         s.tokens > kWideRows - 16;
}
cudaError_t launch_sm90(const QkvAttentionCall& call, const Launch& on);
cudaError_t launch_sm90(const QkvAttentionBackwardCall& call, const Launch& on);

/// Likewise: more tokens than one step holds, 64 after 64.
inline bool has_long_form(const Heads& s, const Launch& on) {
  return on.architecture == 90 && prepared_elements(s) > 0;
}
static_assert(kWideRows == kTokensOfOneStep);
cudaError_t launch_long(const QkvAttentionCall& call, const Launch& on);
cudaError_t launch_long(const QkvAttentionBackwardCall& call, const Launch& on);

}  // namespace sluice::train::cuda
