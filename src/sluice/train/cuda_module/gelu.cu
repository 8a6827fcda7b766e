// sluice/train/cuda_module/gelu.cu - GELU by the error function, forward and backward.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/vectors.cuh"

namespace sluice::train::cuda {
namespace {

constexpr int kThreads = 256, kAtOnce = 2;  // accesses of a thread that are in flight together

/// R of normal_at(), by descending powers: least errors at the degree that what is stored asks for.
/// erf is within 2e-8 for float and 9e-7 for bf16, before rounding.
template <class Act>
struct Fit;
template <>
struct Fit<float> {
  static constexpr int kTerms = 9;
  static __device__ constexpr float term(int i) {
    constexpr float kTermsOf[] = {0.0354557551F, -0.128161868F,  0.105968255F,
                                  0.117130005F,  -0.0480816209F, -0.700547389F,
                                  1.44804036F,   -1.32980915F,   0.5F};
    return kTermsOf[i];
  }
};
template <>
struct Fit<Bfloat> {
  static constexpr int kTerms = 7;
  static __device__ constexpr float term(int i) {
    constexpr float kTermsOf[] = {-0.0803193924F, 0.256303506F, -0.104623481F, -0.688431377F,
                                  1.44682937F,    -1.32976871F, 0.5F};
    return kTermsOf[i];
  }
};

__device__ inline float power_of_two(float x) {
  float y = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float inverse(float x) {
  float y = 0;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// u = |x| (at most 14), bell = exp(−x²/2), and ratio with Φ(−u) = bell · ratio, Φ the normal
/// distribution: R(q), q = u / (u + 1 / 0.3), R(0) = 1/2. Both tails keep their digits.
struct Normal {
  float u, bell, ratio;
};
template <class Act>
__device__ inline Normal normal_at(float x) {
  Normal n{};
  n.u = fminf(fabsf(x), 14.0F);
  n.bell = power_of_two(x * (x * -0.72134752F));
  const float q = n.u * inverse(n.u + 1 / 0.3F);
  n.ratio = Fit<Act>::term(0);
#pragma unroll
  for (int i = 1; i < Fit<Act>::kTerms; ++i)
    n.ratio = fmaf(n.ratio, q, Fit<Act>::term(i));
  return n;
}
/// x·Φ(x) = max(x, 0) − |x|·Φ(−|x|). NaN comes through the bell.
template <class Act>
__device__ inline float gelu(float x) {
  const Normal n = normal_at<Act>(x);
  return fmaf(-n.u, n.bell * n.ratio, fmaxf(x, 0.0F));
}
/// Φ(x) + x·φ(x) is Φ(−u) − u·φ(u) below 0, and 1 − that from 0 on.
template <class Act>
__device__ inline float gelu_slope(float x) {
  const Normal n = normal_at<Act>(x);
  const float low = n.bell * fmaf(n.u, -0.398942280F, n.ratio);  // 1 / √(2π)
  return x < 0 ? low : 1 - low;
}

/// y = scale · f(x) with f gelu, or f its slope times dy. Samples of `per_scale` elements: grid.y
/// walks over them, grid.x through one.
template <class Act, int kVector, bool kBackward>
__global__ void __launch_bounds__(kThreads)
    gelu_kernel(Act* y, const Act* dy, const Act* x, const float* branch_scale,
                std::int64_t per_scale, std::int64_t elements) {
  const std::int64_t samples = (elements + per_scale - 1) / per_scale;
  const std::int64_t first =
      (blockIdx.x * std::int64_t{kThreads} * kAtOnce + threadIdx.x) * kVector;
  for (std::int64_t sample = blockIdx.y; sample < samples; sample += gridDim.y) {
    const std::int64_t start = sample * per_scale, end = min(start + per_scale, elements);
    const float scale = branch_scale == nullptr ? 1.0F : branch_scale[sample];
    Pack<Act, kVector> at[kAtOnce], above[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t i = start + first + k * kThreads * kVector;
      if (i + kVector > end) continue;
      at[k] = load<kVector>(x + i);
      if constexpr (kBackward) above[k] = load<kVector>(dy + i);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t i = start + first + k * kThreads * kVector;
      if (i + kVector <= end) {
        float out[kVector];
#pragma unroll
        for (int e = 0; e < kVector; ++e)
          if constexpr (kBackward)
            out[e] = scale * above[k][e] * gelu_slope<Act>(at[k][e]);
          else
            out[e] = scale * gelu<Act>(at[k][e]);
        store(y + i, out);
      } else {
        for (std::int64_t e = i; e < end; ++e) {
          const float value = to_float(x[e]);
          float out[1] = {scale};
          if constexpr (kBackward)
            out[0] *= to_float(dy[e]) * gelu_slope<Act>(value);
          else
            out[0] *= gelu<Act>(value);
          store(y + e, out);
        }
      }
    }
  }
}

template <class Act, bool kBackward>
cudaError_t run(void* out, const void* above, const void* in, const float* branch_scale,
                std::int64_t per_scale, std::int64_t elements, const Launch& on) {
  if (elements == 0) return cudaSuccess;
  auto* y = static_cast<Act*>(out);
  const auto* dy = static_cast<const Act*>(above);
  const auto* x = static_cast<const Act*>(in);
  if (branch_scale == nullptr) per_scale = elements;
  const std::int64_t samples = (elements + per_scale - 1) / per_scale;
  constexpr int kVector = kTogether<Act>;
  const bool wide = aligned(y, dy, x) && (samples == 1 || per_scale % kVector == 0);
  const std::int64_t of_block = std::int64_t{kThreads} * kAtOnce * (wide ? kVector : 1);
  const dim3 grid(blocks_for(std::min(per_scale, elements), of_block),
                  static_cast<unsigned>(std::min<std::int64_t>(samples, 65535)));
  if (wide)
    gelu_kernel<Act, kVector, kBackward>
        <<<grid, kThreads, 0, on.stream>>>(y, dy, x, branch_scale, per_scale, elements);
  else
    gelu_kernel<Act, 1, kBackward>
        <<<grid, kThreads, 0, on.stream>>>(y, dy, x, branch_scale, per_scale, elements);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch(const GeluCall& c, const Launch& on) {
  return with_type(c.x.type, [&]<class Act>(Type<Act>) {
    return run<Act, false>(c.y.data, nullptr, c.x.data, c.branch_scale, c.elements_per_scale,
                           c.elements, on);
  });
}

cudaError_t launch(const GeluBackwardCall& c, const Launch& on) {
  return with_type(c.x.type, [&]<class Act>(Type<Act>) {
    return run<Act, true>(c.dx.data, c.dy.data, c.x.data, c.branch_scale, c.elements_per_scale,
                          c.elements, on);
  });
}

}  // namespace sluice::train::cuda
