// sluice/train/cpu/update_kernels.h - the loops of an optimizer step over one stretch of a tensor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sluice::train::cpu {

/// The numbers of one step, the same for all tensors.
struct UpdateRates {
  float clip = 1;                          // times the gradient
  float beta1 = 0, gain1 = 0;              // gain: 1 − beta
  float beta2 = 0, gain2 = 0;              //
  float correction1 = 1, correction2 = 1;  // 1 / (1 − betaᵗ)
  float epsilon = 0;                       //
  float rate = 0;                          // learning rate
  float decay = 0;                         // weight decay of this tensor
};

/// Σ x², in double.
double sum_of_squares(const float* x, std::int64_t count);

/// LAMB's stage 1: m, v; then the gradient becomes u = m̂ / (√v̂ + epsilon) + decay · p.
void lamb_direction(float* gradient, float* m, float* v, const float* p, std::int64_t count,
                    const UpdateRates& rates);
/// p −= ratio · u.
void descend(float* p, const float* u, std::int64_t count, float ratio);
/// p = (1 − rate · decay) · p − rate · m̂ / (√v̂ + epsilon); the gradient stays.
void adamw_step(float* p, const float* gradient, float* m, float* v, std::int64_t count,
                const UpdateRates& rates);
/// average += gain · (p − average): a constant p is kept exactly, whatever gain rounds to.
void follow(float* average, const float* p, std::int64_t count, float gain);

}  // namespace sluice::train::cpu
