// sluice/loader/gpu_module/augment_separate.cu - each step of the recipe as a kernel of its own, in
// place; samples that a step is not for are passed over. What the fused kernel is checked against.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu_module/augment.cuh"
#include "sluice/loader/gpu_module/kernels.h"

#include <algorithm>

namespace sluice::loader::gpu {
namespace {

constexpr int kThreads = 256;

__device__ inline Levels pixel_at(const std::uint8_t* image, int i) {
  const std::uint8_t* at = image + 3LL * i;
  return {at[0], at[1], at[2]};
}
__device__ inline void set_pixel(std::uint8_t* image, int i, const Levels& p) {
  std::uint8_t* at = image + 3LL * i;
  at[0] = static_cast<std::uint8_t>(p.r);
  at[1] = static_cast<std::uint8_t>(p.g);
  at[2] = static_cast<std::uint8_t>(p.b);
}

/// blockIdx.y: the sample. Calls body(image, pixel) for its pixels.
template <class Body>
__device__ inline void for_pixels(const BatchOnDevice& batch, Body body) {
  const int pixels = batch.side * batch.side;
  std::uint8_t* const image = batch.crops + 3LL * pixels * blockIdx.y;
  for (int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x); i < pixels;
       i += static_cast<int>(gridDim.x) * kThreads)
    body(image, i);
}

__global__ void grayscale_kernel(BatchOnDevice batch) {
  if (batch.samples[blockIdx.y].draw.change != Change::grayscale) return;
  for_pixels(batch, [](std::uint8_t* image, int i) {
    const int grey = grey_of(pixel_at(image, i));
    set_pixel(image, i, {grey, grey, grey});
  });
}

__global__ void solarize_kernel(BatchOnDevice batch) {
  if (batch.samples[blockIdx.y].draw.change != Change::solarize) return;
  for_pixels(batch, [](std::uint8_t* image, int i) {
    const Levels p = pixel_at(image, i);
    set_pixel(image, i, {solarized(p.r), solarized(p.g), solarized(p.b)});
  });
}

/// Into scratch.
__global__ void blur_kernel(BatchOnDevice batch) {
  const SampleDraw& draw = batch.samples[blockIdx.y].draw;
  if (draw.change != Change::blur) return;
  const int side = batch.side;
  std::uint8_t* const to = batch.scratch + 3LL * side * side * blockIdx.y;
  for_pixels(batch, [&](const std::uint8_t* image, int i) {
    const int x = i % side, y = i / side;
    for (int c = 0; c < 3; ++c) {
      int sums[5];
      for (int k = 0; k < 5; ++k) {
        const auto at = [&](int down) {
          return static_cast<int>(
              image[3LL * (reflect_101(y + down, side) * side + reflect_101(x + k - 2, side)) + c]);
        };
        sums[k] = column_sum(at(-2), at(-1), at(0), at(1), at(2), draw.columns);
      }
      to[3LL * i + c] = static_cast<std::uint8_t>(
          blurred(sums[0], sums[1], sums[2], sums[3], sums[4], draw.rows));
    }
  });
}
__global__ void take_blurred_kernel(BatchOnDevice batch) {
  if (batch.samples[blockIdx.y].draw.change != Change::blur) return;
  const std::uint8_t* const from = batch.scratch + 3LL * batch.side * batch.side * blockIdx.y;
  for_pixels(batch, [&](std::uint8_t* image, int i) { set_pixel(image, i, pixel_at(from, i)); });
}

__global__ void brightness_kernel(BatchOnDevice batch, int turn) {
  const SampleDraw& draw = batch.samples[blockIdx.y].draw;
  if (draw.order[turn] != Step::brightness || with_brightness(draw)) return;
  for_pixels(batch, [&](std::uint8_t* image, int i) {
    Levels p = pixel_at(image, i);
    apply_plain_step(p, Step::brightness, draw, false);
    set_pixel(image, i, p);
  });
}

__global__ void saturation_kernel(BatchOnDevice batch, int turn) {
  const SampleDraw& draw = batch.samples[blockIdx.y].draw;
  if (draw.order[turn] != Step::saturation) return;
  for_pixels(batch, [&](std::uint8_t* image, int i) {
    Levels p = pixel_at(image, i);
    apply_plain_step(p, Step::saturation, draw, false);
    set_pixel(image, i, p);
  });
}

__global__ void grey_sum_kernel(BatchOnDevice batch, int turn) {
  if (batch.samples[blockIdx.y].draw.order[turn] != Step::contrast) return;
  unsigned sum = 0;
  for_pixels(batch, [&](const std::uint8_t* image, int i) {
    sum += static_cast<unsigned>(grey_of(pixel_at(image, i)));
  });
  sum = __reduce_add_sync(0xffffffffU, sum);
  if (threadIdx.x % 32 == 0 && sum > 0)
    atomicAdd(batch.sums + blockIdx.y, static_cast<unsigned long long>(sum));
}

__global__ void contrast_kernel(BatchOnDevice batch, int turn) {
  const SampleDraw& draw = batch.samples[blockIdx.y].draw;
  if (draw.order[turn] != Step::contrast) return;
  const bool joined = with_brightness(draw);
  const int shift = contrast_offset(batch.sums[blockIdx.y], batch.side * batch.side,
                                    draw.brightness, draw.contrast, joined);
  for_pixels(batch, [&](std::uint8_t* image, int i) {
    const Levels p = pixel_at(image, i);
    const auto changed = [&](int level) {
      return contrasted(level, draw.brightness, draw.contrast, shift, joined);
    };
    set_pixel(image, i, {changed(p.r), changed(p.g), changed(p.b)});
  });
}

__global__ void normalise_kernel(BatchOnDevice batch) {
  const int pixels = batch.side * batch.side;
  float* const red = static_cast<float*>(batch.output) + 3LL * pixels * blockIdx.y;
  for_pixels(batch, [&](const std::uint8_t* image, int i) {
    const Levels p = pixel_at(image, i);
    red[i] = batch.levels[p.r];
    red[pixels + i] = batch.levels[256 + p.g];
    red[2LL * pixels + i] = batch.levels[512 + p.b];
  });
}

dim3 grid_of(const BatchOnDevice& batch) {
  const int pixels = batch.side * batch.side;
  return {static_cast<unsigned>(std::min((pixels + kThreads - 1) / kThreads, 64)),
          static_cast<unsigned>(batch.count)};
}

}  // namespace

cudaError_t launch_normalise(const BatchOnDevice& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  normalise_kernel<<<grid_of(batch), kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

cudaError_t launch_separate(const BatchOnDevice& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  const dim3 grid = grid_of(batch);
  const std::size_t samples = static_cast<std::size_t>(batch.count);
  if (const cudaError_t error =
          cudaMemsetAsync(batch.sums, 0, samples * sizeof *batch.sums, stream))
    return error;
  grayscale_kernel<<<grid, kThreads, 0, stream>>>(batch);
  solarize_kernel<<<grid, kThreads, 0, stream>>>(batch);
  blur_kernel<<<grid, kThreads, 0, stream>>>(batch);
  take_blurred_kernel<<<grid, kThreads, 0, stream>>>(batch);
  for (int turn = 0; turn < 3; ++turn) {
    brightness_kernel<<<grid, kThreads, 0, stream>>>(batch, turn);
    grey_sum_kernel<<<grid, kThreads, 0, stream>>>(batch, turn);
    contrast_kernel<<<grid, kThreads, 0, stream>>>(batch, turn);
    saturation_kernel<<<grid, kThreads, 0, stream>>>(batch, turn);
  }
  if (const cudaError_t error = cudaGetLastError()) return error;
  if (batch.kind == Output::f32_chw) return launch_normalise(batch, stream);
  return cudaMemcpyAsync(
      batch.output, batch.crops,
      samples * 3 * static_cast<std::size_t>(batch.side) * static_cast<std::size_t>(batch.side),
      cudaMemcpyDeviceToDevice, stream);
}

}  // namespace sluice::loader::gpu
