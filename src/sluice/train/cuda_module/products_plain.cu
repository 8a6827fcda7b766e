// sluice/train/cuda_module/products_plain.cu - the product without tensor cores or tiles, for the
// few kinds that cuBLASLt does not take.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/products.h"

#include <cuda_bf16.h>

namespace sluice::train::cuda {
namespace {

constexpr int kThreads = 256;

__device__ float value(const float* from) {
  return *from;
}
__device__ float value(const __nv_bfloat16* from) {
  return __bfloat162float(*from);
}
__device__ void store(float* to, float value) {
  *to = value;
}
__device__ void store(__nv_bfloat16* to, float value) {
  *to = __float2bfloat16_rn(value);
}

/// Element (i, l) of op(a) lies at i · a_row + l · a_column, (l, j) of op(b) likewise.
struct Strides {
  std::int64_t a_row, a_column, b_row, b_column;
};

template <class Operand, class Sum>
__global__ void __launch_bounds__(kThreads)
    product_plain_kernel(Sum* d, const Operand* a, const Operand* b, const Sum* c, std::int64_t m,
                         std::int64_t n, std::int64_t k, std::int64_t ldd, Strides strides) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < m * n;
       at += step) {
    const std::int64_t i = at / n, j = at % n;
    float sum = 0;
    for (std::int64_t l = 0; l < k; ++l)
      sum = fmaf(value(a + i * strides.a_row + l * strides.a_column),
                 value(b + l * strides.b_row + j * strides.b_column), sum);
    if (c != nullptr) sum += value(c + i * ldd + j);
    store(d + i * ldd + j, sum);
  }
}

template <class Operand, class Sum>
cudaError_t run(const Product& p, const Launch& on) {
  const Strides strides{p.transpose_a ? 1 : p.lda, p.transpose_a ? p.lda : 1,
                        p.transpose_b ? 1 : p.ldb, p.transpose_b ? p.ldb : 1};
  const std::int64_t wanted = (p.m * p.n + kThreads - 1) / kThreads;
  const std::int64_t most = static_cast<std::int64_t>(on.multiprocessors) * 32;
  product_plain_kernel<<<static_cast<unsigned>(wanted < most ? wanted : most), kThreads, 0,
                         on.stream>>>(
      static_cast<Sum*>(p.d.data), static_cast<const Operand*>(p.a.data),
      static_cast<const Operand*>(p.b.data), static_cast<const Sum*>(p.c.data), p.m, p.n, p.k,
      p.ldd, strides);
  return cudaGetLastError();
}

}  // namespace

cudaError_t multiply_plain(const Product& product, const Launch& on) {
  if (product.a.type == Dtype::f32)
    return product.d.type == Dtype::f32 ? run<float, float>(product, on)
                                        : run<float, __nv_bfloat16>(product, on);
  return product.d.type == Dtype::f32 ? run<__nv_bfloat16, float>(product, on)
                                      : run<__nv_bfloat16, __nv_bfloat16>(product, on);
}

}  // namespace sluice::train::cuda
