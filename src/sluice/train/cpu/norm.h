// sluice/train/cpu/norm.h - RMSNorm and the residual branch, rows at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/bf16.h"
#include "sluice/train/cpu/team.h"

#include <cstdint>

namespace sluice::train::cpu {

// Act: activations, Res: residual stream; (float, float), (Bf16, float), (Bf16, Bf16). Math in
// fp32. Partial sums (d_gamma) are the caller's own, one array per member of the team, and added
// to.

/// y = gamma · x · rstd, rstd = 1 / sqrt(mean(x²) + epsilon).
template <class Act, class Res>
void rms_norm_forward(Act* y, float* rstd, const Res* x, const float* gamma, Rows rows,
                      std::int64_t dim, float epsilon);
/// dx += the gradient; d_gamma [dim] += sum over the rows.
template <class Act, class Res>
void rms_norm_backward(Res* dx, float* d_gamma, const Act* dy, const Res* x, const float* rstd,
                       const float* gamma, Rows rows, std::int64_t dim);

/// y = x + scale[row / rows_per_scale] · gamma ⊙ branch; gamma null: 1, scale null: 1. y may be x.
template <class Act, class Res>
void add_branch_forward(Res* y, const Res* x, const Act* branch, const float* gamma,
                        const float* scale, std::int64_t rows_per_scale, Rows rows,
                        std::int64_t dim);
/// d_branch = scale · gamma ⊙ dy; d_gamma [dim] += Σ scale · branch ⊙ dy (null with gamma null).
template <class Act, class Res>
void add_branch_backward(Act* d_branch, float* d_gamma, const Res* dy, const Act* branch,
                         const float* gamma, const float* scale, std::int64_t rows_per_scale,
                         Rows rows, std::int64_t dim);

}  // namespace sluice::train::cpu
