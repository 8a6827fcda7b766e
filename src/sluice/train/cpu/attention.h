// sluice/train/cpu/attention.h - scaled dot-product attention of whole heads, scores in a scratch
// of each thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/bf16.h"
#include "sluice/train/cpu/gemm.h"
#include "sluice/train/cpu/rope.h"
#include "sluice/train/cpu/team.h"

#include <cstddef>
#include <cstdint>

namespace sluice::train::cpu {

/// Bytes of scratch that one thread needs, for either pass; 64-byte aligned.
template <class Act>
std::size_t attention_scratch_bytes(const Heads& heads);

/// Pairs [begin, end) of batch * heads. y [batch, tokens, heads, head_dim]; lse [batch, heads,
/// tokens].
template <class Act>
void attention_forward(Act* y, float* lse, const Act* q, const Act* k, const Act* v,
                       const Heads& heads, const Gemm& gemm, void* scratch, Rows pairs);
/// dq, dk, dv [batch, heads, tokens, head_dim], written whole; dy and y as above.
template <class Act>
void attention_backward(Act* dq, Act* dk, Act* dv, const Act* dy, const Act* y, const float* lse,
                        const Act* q, const Act* k, const Act* v, const Heads& heads,
                        const Gemm& gemm, void* scratch, Rows pairs);

}  // namespace sluice::train::cpu
