// sluice/train/cpu/rope.h - q and k normed per head and turned by the tables; q, k, v laid out by
// head.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/bf16.h"
#include "sluice/train/cpu/team.h"
#include "sluice/train/model/shapes.h"

#include <cstdint>

namespace sluice::train::cpu {

/// Samples [begin, end). q, k, v [batch, heads, tokens, head_dim]; rstd_q, rstd_k [batch, heads,
/// tokens]; qkv [batch, tokens, 3, heads, head_dim]; gamma_q, gamma_k [head_dim]; cosine, sine
/// [tokens, head_dim].
template <class Act>
void qk_norm_rope_forward(Act* q, Act* k, Act* v, float* rstd_q, float* rstd_k, const Act* qkv,
                          const float* gamma_q, const float* gamma_k, const float* cosine,
                          const float* sine, const Heads& heads, Rows samples);
/// d_qkv = (written whole); d_gamma_q, d_gamma_k [head_dim] += (the caller's own partial sums).
template <class Act>
void qk_norm_rope_backward(Act* d_qkv, float* d_gamma_q, float* d_gamma_k, const Act* dq,
                           const Act* dk, const Act* dv, const Act* qkv, const float* rstd_q,
                           const float* rstd_k, const float* gamma_q, const float* gamma_k,
                           const float* cosine, const float* sine, const Heads& heads,
                           Rows samples);

}  // namespace sluice::train::cpu
