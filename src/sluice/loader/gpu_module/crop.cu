// sluice/loader/gpu_module/crop.cu - a part of a decoded image, resized with antialiasing, perhaps
// mirrored.
// SPDX-License-Identifier: Apache-2.0
//
// A thread owns a column of a band of output rows. Going down it stretches each source row once to
// one value of its column, keeps the last few in shared memory, and blends them: no thread waits
// for another. Ladder: bench/kernels/gpu_image.md.
#include "sluice/loader/gpu_module/kernels.h"

#include <algorithm>

namespace sluice::loader::gpu {
namespace {

constexpr int kMostThreads = 256;
constexpr int kBand = 16;  // output rows of a block
constexpr int kRing =
    8;  // stretched rows a thread keeps; an output that blends more stretches anew

template <Resample kResample>
__device__ inline float weight_at(float d) {
  const float a = fabsf(d);
  if constexpr (kResample == Resample::bilinear) return fmaxf(0.0F, 1.0F - a);
  // Keys, a = -0.5, as Pillow and DALI.
  if (a < 1) return (1.5F * a - 2.5F) * a * a + 1;
  return a < 2 ? ((-0.5F * a + 2.5F) * a - 4) * a + 2 : 0.0F;
}

/// What an output position of an axis blends: source pixel first + k weighs
/// weight_at(offset + k * step) * inverse.
struct Taps {
  int first = 0, count = 0;
  float offset = 0, step = 0, inverse = 0;
};

template <Resample kResample>
__device__ Taps taps_of(int at, int dst, int src) {
  constexpr double kSupport = kResample == Resample::bilinear ? 1 : 2;
  const double scale = static_cast<double>(src) / dst;
  const double shrink = fmax(1.0, scale);
  const double centre = (at + 0.5) * scale;
  Taps taps;
  taps.first = max(0, static_cast<int>(floor(centre - kSupport * shrink)));
  taps.count = min(src, static_cast<int>(ceil(centre + kSupport * shrink))) - taps.first;
  taps.offset = static_cast<float>((taps.first + 0.5 - centre) / shrink);
  taps.step = static_cast<float>(1 / shrink);
  float sum = 0;
  for (int k = 0; k < taps.count; ++k)
    sum += weight_at<kResample>(taps.offset + static_cast<float>(k) * taps.step);
  taps.inverse = 1 / sum;
  return taps;
}

struct Pixel {
  float r = 0, g = 0, b = 0;
};
__device__ inline void add(Pixel& sum, float weight, const Pixel& pixel) {
  sum.r = fmaf(weight, pixel.r, sum.r);
  sum.g = fmaf(weight, pixel.g, sum.g);
  sum.b = fmaf(weight, pixel.b, sum.b);
}

template <Resample kResample>
__device__ inline Pixel stretched(const std::uint8_t* row, const Taps& taps) {
  Pixel sum;
  const std::uint8_t* at = row + 3 * taps.first;
  for (int k = 0; k < taps.count; ++k, at += 3)
    add(sum, weight_at<kResample>(taps.offset + static_cast<float>(k) * taps.step),
        {static_cast<float>(__ldg(at)), static_cast<float>(__ldg(at + 1)),
         static_cast<float>(__ldg(at + 2))});
  return {sum.r * taps.inverse, sum.g * taps.inverse, sum.b * taps.inverse};
}

__device__ inline std::uint8_t level_of(float value) {
  return static_cast<std::uint8_t>(fminf(fmaxf(value + 0.5F, 0.0F), 255.0F));
}

/// blockIdx.y: the sample. blockIdx.x: a tile of columns of a band.
template <Resample kResample>
__global__ void __launch_bounds__(kMostThreads)
    crop_kernel(const DeviceSample* samples, std::uint8_t* crops, int side, int tiles) {
  extern __shared__ float ring[];  // [kRing][3][threads]
  __shared__ Taps rows[kBand];
  const DeviceSample& sample = samples[blockIdx.y];
  if (sample.image == nullptr) return;
  const SampleDraw& draw = sample.draw;
  const int threads = static_cast<int>(blockDim.x);
  const int begin = static_cast<int>(blockIdx.x) / tiles * kBand;
  const int end = min(begin + kBand, side);
  for (int y = begin + static_cast<int>(threadIdx.x); y < end; y += threads)
    rows[y - begin] = taps_of<kResample>(y, side, draw.height);
  __syncthreads();
  const int x = static_cast<int>(blockIdx.x) % tiles * threads + static_cast<int>(threadIdx.x);
  if (x >= side) return;
  const Taps columns = taps_of<kResample>(x, side, draw.width);
  const std::uint8_t* const part = sample.image + draw.y * sample.pitch + 3LL * draw.x;
  std::uint8_t* to = crops + ((static_cast<std::int64_t>(blockIdx.y) * side + begin) * side +
                              (draw.mirrored != 0 ? side - 1 - x : x)) *
                                 3;
  float* const mine = ring + threadIdx.x;
  const auto keep = [&](int row, const Pixel& pixel) {
    float* at = mine + row % kRing * 3 * threads;
    at[0] = pixel.r;
    at[threads] = pixel.g;
    at[2 * threads] = pixel.b;
  };
  const auto kept = [&](int row) {
    const float* at = mine + row % kRing * 3 * threads;
    return Pixel{at[0], at[threads], at[2 * threads]};
  };
  int next = rows[0].first;  // rows before this one are kept, or not needed any more
  for (int y = begin; y < end; ++y, to += 3LL * side) {
    const Taps taps = rows[y - begin];
    Pixel sum;
    if (taps.count <= kRing) {
      next = max(next, taps.first);
      for (; next < taps.first + taps.count; ++next)
        keep(next, stretched<kResample>(part + next * sample.pitch, columns));
      for (int k = 0; k < taps.count; ++k)
        add(sum, weight_at<kResample>(taps.offset + static_cast<float>(k) * taps.step),
            kept(taps.first + k));
    } else {
      for (int k = 0; k < taps.count; ++k)
        add(sum, weight_at<kResample>(taps.offset + static_cast<float>(k) * taps.step),
            stretched<kResample>(part + (taps.first + k) * sample.pitch, columns));
    }
    to[0] = level_of(sum.r * taps.inverse);
    to[1] = level_of(sum.g * taps.inverse);
    to[2] = level_of(sum.b * taps.inverse);
  }
}

template <Resample kResample>
cudaError_t launch_as(const BatchOnDevice& batch, cudaStream_t stream) {
  const int threads = std::min((batch.side + 31) / 32 * 32, kMostThreads);
  const int tiles = (batch.side + threads - 1) / threads;
  const int bands = (batch.side + kBand - 1) / kBand;
  const dim3 grid(static_cast<unsigned>(tiles * bands), static_cast<unsigned>(batch.count));
  const std::size_t ring = sizeof(float) * 3 * kRing * static_cast<std::size_t>(threads);
  crop_kernel<kResample><<<grid, static_cast<unsigned>(threads), ring, stream>>>(
      batch.samples, batch.crops, batch.side, tiles);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_crop(const BatchOnDevice& batch, Resample resample, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  return resample == Resample::bicubic ? launch_as<Resample::bicubic>(batch, stream)
                                       : launch_as<Resample::bilinear>(batch, stream);
}

}  // namespace sluice::loader::gpu
