// sluice/train/cuda_module/weights.cu - weights as the products read them, LayerScale folded into
// one, cleared memory.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/vectors.cuh"

namespace sluice::train::cuda {
namespace {

constexpr int kThreads = 256, kFoldThreads = 128;
constexpr int kWide = 8;

template <class T, int kVector>
__device__ void copy_weight(const WeightCopy& w) {
  auto* to = static_cast<T*>(w.compute.data);
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads * kVector;
  std::int64_t i = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) * kVector;
  const bool small = w.elements < (std::int64_t{1} << 31U);  // a division of 32 bits will do
  for (; i < w.elements; i += stride) {
    const Pack<float, kVector> got = load<kVector>(w.value + i);
    float scale = 1;
    if (w.row_scale != nullptr)
      scale = w.row_scale[small ? static_cast<std::int64_t>(static_cast<unsigned>(i) /
                                                            static_cast<unsigned>(w.columns))
                                : i / w.columns];
    float out[kVector];
#pragma unroll
    for (int e = 0; e < kVector; ++e)
      out[e] = got[e] * scale;
    store(to + i, out);
  }
}

/// grid.y: the weights; grid.x: blocks that share one.
__global__ void __launch_bounds__(kThreads) copy_weights_kernel(const WeightCopy* weights) {
  const WeightCopy w = weights[blockIdx.y];
  const bool at_16 = (reinterpret_cast<std::uintptr_t>(w.value) |
                      reinterpret_cast<std::uintptr_t>(w.compute.data)) %
                         16 ==
                     0;
  const bool wide =
      at_16 && w.elements % kWide == 0 && (w.row_scale == nullptr || w.columns % kWide == 0);
  if (w.compute.type == Dtype::bf16)
    wide ? copy_weight<Bfloat, kWide>(w) : copy_weight<Bfloat, 1>(w);
  else
    wide ? copy_weight<float, kWide>(w) : copy_weight<float, 1>(w);
}

/// A block per row.
template <int kVector>
__global__ void __launch_bounds__(kFoldThreads)
    fold_layer_scale_kernel(float* d_weight, float* d_gamma, const float* d_folded,
                            const float* weight, const float* gamma, std::int64_t columns,
                            bool add) {
  const std::int64_t row = blockIdx.x, start = row * columns;
  const float scale = gamma[row];
  float sum = 0;
  for (std::int64_t c = threadIdx.x * kVector; c < columns; c += kFoldThreads * kVector) {
    const Pack<float, kVector> above = load<kVector>(d_folded + start + c),
                               at = load<kVector>(weight + start + c);
    Pack<float, kVector> before{};
    if (add) before = load<kVector>(d_weight + start + c);
    float out[kVector];
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      out[i] = before[i] + scale * above[i];
      sum += above[i] * at[i];
    }
    store(d_weight + start + c, out);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) d_gamma[row] += sum;
}

}  // namespace

cudaError_t launch(const ClearCall& c, const Launch& on) {
  return c.bytes == 0 ? cudaSuccess : cudaMemsetAsync(c.what, 0, c.bytes, on.stream);
}

cudaError_t launch(const CopyWeightsCall& c, const Launch& on) {
  if (c.count == 0 || c.most_elements == 0) return cudaSuccess;
  const std::int64_t wanted = (c.most_elements + kThreads * kWide - 1) / (kThreads * kWide);
  const std::int64_t share = on.multiprocessors * std::int64_t{32} / c.count + 1;
  const dim3 grid(static_cast<unsigned>(std::min(wanted, share)), static_cast<unsigned>(c.count));
  copy_weights_kernel<<<grid, kThreads, 0, on.stream>>>(c.weights);
  return cudaGetLastError();
}

cudaError_t launch(const FoldLayerScaleCall& c, const Launch& on) {
  if (c.rows == 0) return cudaSuccess;
  const auto rows = static_cast<unsigned>(c.rows);
  if (c.columns % 4 == 0 && aligned(c.d_weight, c.d_folded, c.weight))
    fold_layer_scale_kernel<4><<<rows, kFoldThreads, 0, on.stream>>>(
        c.d_weight, c.d_gamma, c.d_folded, c.weight, c.gamma, c.columns, c.add);
  else
    fold_layer_scale_kernel<1><<<rows, kFoldThreads, 0, on.stream>>>(
        c.d_weight, c.d_gamma, c.d_folded, c.weight, c.gamma, c.columns, c.add);
  return cudaGetLastError();
}

}  // namespace sluice::train::cuda
