// sluice/train/cpu/gelu.h - GELU by the error function (not the tanh form), elements at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/bf16.h"
#include "sluice/train/cpu/team.h"

namespace sluice::train::cpu {

template <class Act>
void gelu_forward(Act* y, const Act* x, Rows elements);
/// dx may be dy.
template <class Act>
void gelu_backward(Act* dx, const Act* dy, const Act* x, Rows elements);

/// The same values in the other type.
void to_bf16(Bf16* y, const float* x, Rows elements);
void to_float(float* y, const Bf16* x, Rows elements);
/// y += x.
void add_into(float* y, const float* x, Rows elements);

}  // namespace sluice::train::cpu
