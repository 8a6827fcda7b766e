// sluice/loader/gpu_module/erase.cu - random erasing: the rectangle that was drawn for a sample
// becomes one colour, in the batch as it goes out. Last of all, in either form of the recipe.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu_module/kernels.h"

namespace sluice::loader::gpu {
namespace {

constexpr int kThreads = 256;

/// One block, one sample.
__global__ void __launch_bounds__(kThreads) erase_kernel(BatchOnDevice batch) {
  const Erased box = batch.samples[blockIdx.x].draw.erased;
  const int side = batch.side;
  const std::int64_t pixels = static_cast<std::int64_t>(side) * side;
  const std::int64_t offset = 3 * pixels * blockIdx.x;
  const int all = box.width * box.height;
  for (int i = static_cast<int>(threadIdx.x); i < all; i += kThreads) {
    const std::int64_t at =
        static_cast<std::int64_t>(box.y + i / box.width) * side + box.x + i % box.width;
    for (int c = 0; c < 3; ++c) {
      const int level = box.levels[c];
      if (batch.kind == Output::u8_hwc)
        static_cast<std::uint8_t*>(batch.output)[offset + 3 * at + c] =
            static_cast<std::uint8_t>(level);
      else
        static_cast<float*>(batch.output)[offset + c * pixels + at] = batch.levels[256 * c + level];
    }
  }
}

}  // namespace

cudaError_t launch_erase(const BatchOnDevice& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  erase_kernel<<<static_cast<unsigned>(batch.count), kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace sluice::loader::gpu
