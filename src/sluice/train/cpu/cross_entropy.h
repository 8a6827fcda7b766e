// sluice/train/cpu/cross_entropy.h - loss and gradient of rows of logits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/bf16.h"
#include "sluice/train/cpu/team.h"

#include <cstdint>

namespace sluice::train::cpu {

/// row_loss[r] = −Σ_c t_c · log_softmax(logits[r])_c; d_logits[r] = (softmax − t) · factor. t is
/// soft[r] where `soft` is given, else one at labels[r]; then smoothed: (1 − s)·t + s / classes.
/// A label below 0 leaves the row out: loss 0, gradient 0. d_logits may be null (evaluation) and
/// may be the logits.
template <class Act>
void cross_entropy(float* row_loss, Act* d_logits, const Act* logits, const std::int32_t* labels,
                   const float* soft, float smoothing, float factor, Rows rows,
                   std::int64_t classes);

}  // namespace sluice::train::cpu
