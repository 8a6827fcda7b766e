// sluice/train/cuda_module/cross_entropy.cu - loss and gradient of rows of logits: a block per row,
// then the sum of the rows.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/mma.cuh"
#include "sluice/train/cuda_module/vectors.cuh"

#include <limits>

namespace sluice::train::cuda {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Σ exp(x) as sum · exp(most). A value that is not a number makes the sum one too.
struct Exponentials {
  float most = -kInfinity, sum = 0;
};
/// What `most` is taken away as: nothing from a sum of nothing.
__device__ inline float finite_or_zero(float most) {
  return most == -kInfinity ? 0.0F : most;
}
__device__ inline Exponentials merged(const Exponentials& a, const Exponentials& b) {
  const float most = fmaxf(a.most, b.most), base = finite_or_zero(most);
  return {most, a.sum * expf(a.most - base) + b.sum * expf(b.most - base)};
}
__device__ inline Exponentials lanes_merged(Exponentials e) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    e = merged(e, {__shfl_xor_sync(0xffffffffU, e.most, offset),
                   __shfl_xor_sync(0xffffffffU, e.sum, offset)});
  // A merge rounds by the order of its sides: all take the first lane's.
  return {__shfl_sync(0xffffffffU, e.most, 0), __shfl_sync(0xffffffffU, e.sum, 0)};
}
/// All threads of the block get the same.
__device__ inline Exponentials block_merged(Exponentials e) {
  __shared__ Exponentials of_warp[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  e = lanes_merged(e);
  if (lane == 0) of_warp[warp] = e;
  __syncthreads();
  return lanes_merged(lane < blockDim.x / 32 ? of_warp[lane] : Exponentials{});
}

struct Targets {
  const std::int32_t* labels;
  const float* soft;
  float smoothing, factor;
};

template <class Act, int kVector>
__global__ void cross_entropy_kernel(float* row_loss, Act* d_logits, const Act* logits,
                                     Targets targets, std::int64_t classes) {
  const std::int64_t row = blockIdx.x;
  const Act* x = logits + row * classes;
  const std::int64_t first = std::int64_t{threadIdx.x} * kVector,
                     stride = std::int64_t{blockDim.x} * kVector;
  const int label = targets.labels == nullptr ? 0 : targets.labels[row];
  if (label < 0) {  // not scored
    constexpr float kZeros[kVector] = {};
    if (threadIdx.x == 0) row_loss[row] = 0;
    if (d_logits != nullptr)
      for (std::int64_t c = first; c < classes; c += stride)
        store(d_logits + row * classes + c, kZeros);
    return;
  }
  Exponentials own;
  for (std::int64_t c = first; c < classes; c += stride) {
    const Pack<Act, kVector> got = load<kVector>(x + c);
    Exponentials more{got[0], 0};
#pragma unroll
    for (int i = 1; i < kVector; ++i)
      more.most = fmaxf(more.most, got[i]);
    more.most = fmaxf(more.most, own.most);
    const float base = finite_or_zero(more.most);
    more.sum = own.sum * expf(own.most - base);
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      more.sum += expf(got[i] - base);
    own = more;
  }
  own = block_merged(own);
  const float log_sum = logf(own.sum), share = targets.smoothing / static_cast<float>(classes);
  float loss = 0;
  for (std::int64_t c = first; c < classes; c += stride) {
    const Pack<Act, kVector> got = load<kVector>(x + c);
    Pack<float, kVector> soft{};
    if (targets.soft != nullptr) soft = load<kVector>(targets.soft + row * classes + c);
    float out[kVector];
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float given = targets.soft != nullptr ? soft[i] : c + i == label ? 1.0F : 0.0F;
      const float target = (1 - targets.smoothing) * given + share;
      const float log_probability = got[i] - own.most - log_sum;
      if (target != 0) loss -= target * log_probability;  // not 0 · −∞
      out[i] = (expf(log_probability) - target) * targets.factor;
    }
    if (d_logits != nullptr) store(d_logits + row * classes + c, out);
  }
  loss = block_sum(loss);
  if (threadIdx.x == 0) row_loss[row] = loss;
}

__device__ inline float block_max(float value) {
  __shared__ float of_warp[32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, offset));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? of_warp[threadIdx.x % 32] : -kInfinity;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, offset));
  return value;
}

/// Long rows with a label each, not smoothed: a row is read once, into shared memory, where every
/// thread finds what it copied; then its maximum, its sum, its gradient with as few instructions as
/// they need (of 50,304 classes instructions take longer than bytes).
template <class Act, int kVector>
__global__ void __launch_bounds__(512)
    long_rows_kernel(float* row_loss, Act* d_logits, const Act* logits, const std::int32_t* labels,
                     float factor, std::int64_t classes) {
  constexpr float kLog2e = 1.44269504088896340736F;
  extern __shared__ __align__(16) unsigned char row_memory[];
  auto* const x = reinterpret_cast<Act*>(row_memory);
  const std::int64_t row = blockIdx.x;
  const int first = static_cast<int>(threadIdx.x) * kVector,
            stride = static_cast<int>(blockDim.x) * kVector, end = static_cast<int>(classes),
            label = labels[row];
  Act* const d = d_logits == nullptr ? nullptr : d_logits + row * classes;
  if (label < 0) {  // not scored
    constexpr float kZeros[kVector] = {};
    if (threadIdx.x == 0) row_loss[row] = 0;
    for (int c = first; d != nullptr && c < end; c += stride)
      store(d + c, kZeros);
    return;
  }
  for (int c = first; c < end; c += stride)
    copy_later(shared_address(x + c), logits + row * classes + c, true);
  wait_for_copies();
  float most = -kInfinity, sum = 0;
  for (int c = first; c < end; c += stride) {
    const Pack<Act, kVector> got = load<kVector>(x + c);
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      most = fmaxf(most, got[i]);
  }
  const float base = finite_or_zero(block_max(most)) * kLog2e;
  for (int c = first; c < end; c += stride) {
    const Pack<Act, kVector> got = load<kVector>(x + c);
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      sum += exp2_fast(fmaf(got[i], kLog2e, -base));
  }
  const float log_sum = base + log2f(block_sum(sum));  // in units of log 2
  const int owner = label / kVector * kVector;
  if (owner % stride == first) row_loss[row] = log_sum / kLog2e - to_float(x[label]);
  for (int c = first; d != nullptr && c < end; c += stride) {
    const Pack<Act, kVector> got = load<kVector>(x + c);
    float out[kVector];
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      out[i] = exp2_fast(fmaf(got[i], kLog2e, -log_sum)) * factor;
    if (c == owner) {
#pragma unroll
      for (int i = 0; i < kVector; ++i)
        out[i] -= c + i == label ? factor : 0.0F;
    }
    store(d + c, out);
  }
}
/// Bytes of rows that are worth it: of fewer the caches keep enough, of more two blocks do not fit
/// a multiprocessor of sm_90 (nor one that of sm_86).
constexpr std::size_t kLongFrom = 32 << 10, kLongTo = 99 << 10;

/// One block.
__global__ void __launch_bounds__(1024)
    sum_rows_kernel(float* loss, const float* row_loss, std::int64_t rows, float factor) {
  double sum = 0;
  for (std::int64_t row = threadIdx.x; row < rows; row += 1024)
    sum += row_loss[row];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *loss = static_cast<float>(static_cast<double>(factor) * sum);
}

}  // namespace

cudaError_t launch(const CrossEntropyCall& c, const Launch& on) {
  return with_type(c.logits.type, [&]<class Act>(Type<Act>) {
    auto* d_logits = static_cast<Act*>(c.d_logits.data);
    const auto* logits = static_cast<const Act*>(c.logits.data);
    // With soft targets only those count, but a label below 0 still leaves the row out.
    const Targets targets{c.labels, c.soft_targets, c.label_smoothing, c.gradient_factor};
    constexpr int kWide = kTogether<Act>;
    const bool wide = c.classes % kWide == 0 && aligned(d_logits, logits, c.soft_targets);
    const std::int64_t accesses = c.classes / (wide ? kWide : 1);
    const unsigned threads = accesses <= 512 ? 128 : accesses <= 2048 ? 256 : 512;
    const auto blocks = static_cast<unsigned>(c.rows);
    const auto row_bytes = static_cast<std::size_t>(c.classes) * sizeof(Act);
    if (blocks != 0) {
      if (wide && c.soft_targets == nullptr && c.label_smoothing == 0 && c.labels != nullptr &&
          row_bytes >= kLongFrom && row_bytes <= kLongTo) {
        const auto kernel = long_rows_kernel<Act, kWide>;
        if (const cudaError_t error = cudaFuncSetAttribute(
                kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kLongTo)))
          return error;
        kernel<<<blocks, 512, row_bytes, on.stream>>>(c.row_loss, d_logits, logits, c.labels,
                                                      c.gradient_factor, c.classes);
      } else if (wide)
        cross_entropy_kernel<Act, kWide>
            <<<blocks, threads, 0, on.stream>>>(c.row_loss, d_logits, logits, targets, c.classes);
      else
        cross_entropy_kernel<Act, 1>
            <<<blocks, threads, 0, on.stream>>>(c.row_loss, d_logits, logits, targets, c.classes);
    }
    if (c.loss != nullptr)
      sum_rows_kernel<<<1, 1024, 0, on.stream>>>(c.loss, c.row_loss, c.rows, c.loss_factor);
    return cudaGetLastError();
  });
}

}  // namespace sluice::train::cuda
