// sluice/train/cuda_module/gelu_in_ending.cuh - GELU and its slope for the ending of a product of
// bf16: half the instructions of gelu.cu, errors below bf16's own rounding.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/mma.cuh"

namespace sluice::train::cuda {

// Many values at once, operation by operation: one warp alone must fill the pipes.
#define SLUICE_EACH _Pragma("unroll") for (int e = 0; e < kCount; ++e)

/// x·Φ(x) = x / (1 + 2^(x·P(x²))), P of least relative error from -5 to 5: within 1.2e-3 of the
/// value there (bf16 rounds by up to 3.9e-3), and within 1e-8 below -5, where it is above -1.5e-6.
template <int kCount>
__device__ inline void gelus(float (&x)[kCount]) {
  float square[kCount], power[kCount];
  SLUICE_EACH square[e] = x[e] * x[e];
  SLUICE_EACH power[e] = fmaf(-1.32764608e-05F, square[e], 0.00143440941F);
  SLUICE_EACH power[e] = fmaf(power[e], square[e], -0.109536424F);
  SLUICE_EACH power[e] = fmaf(power[e], square[e], -2.29716587F);
  SLUICE_EACH power[e] = 1.0F + exp2_fast(x[e] * power[e]);
  SLUICE_EACH asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(power[e]));
  SLUICE_EACH x[e] *= power[e];
}

/// Φ(x) + x·φ(x), by an odd polynomial from -4 to 4 and constant beyond: within 5.1e-4, an eighth
/// of what bf16 rounds the gradient by that it multiplies.
template <int kCount>
__device__ inline void slopes_of_gelu(float (&x)[kCount]) {
  constexpr float kTerms[] = {1.21382709e-06F, -3.84600826e-05F, 0.000687651918F, -0.00768748624F,
                              0.0559149906F,   -0.26203013F,     0.796721816F};
  float square[kCount], sum[kCount];
  SLUICE_EACH asm("max.NaN.f32 %0, %0, 0fC0800000;"
                  : "+f"(x[e]));  // -4; what is no number stays so
  SLUICE_EACH asm("min.NaN.f32 %0, %0, 0f40800000;" : "+f"(x[e]));
  SLUICE_EACH square[e] = x[e] * x[e];
  SLUICE_EACH sum[e] = fmaf(square[e], -1.64201328e-08F, kTerms[0]);
#pragma unroll
  for (int i = 1; i < 7; ++i)
    SLUICE_EACH sum[e] = fmaf(sum[e], square[e], kTerms[i]);
  SLUICE_EACH x[e] = fmaf(x[e], sum[e], 0.5F);
}
#undef SLUICE_EACH

}  // namespace sluice::train::cuda
