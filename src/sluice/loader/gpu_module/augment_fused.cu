// sluice/loader/gpu_module/augment_fused.cu - 3-Augment, colour jitter and output of a sample by
// one block, the image in its shared memory.
// SPDX-License-Identifier: Apache-2.0
//
// Contrast needs the mean of the whole image, as it is by then: what comes before it is done in a
// first pass, which also sums; the second pass does the rest and writes. Ladder:
// bench/kernels/gpu_image.md.
#include "sluice/loader/gpu_module/augment.cuh"
#include "sluice/loader/gpu_module/kernels.h"

namespace sluice::loader::gpu {
namespace {

constexpr int kThreads = 1024;

__device__ inline int byte_of(std::uint32_t word, int at) {
  return static_cast<int>((word >> (8 * at)) & 255U);
}
__device__ inline std::uint32_t packed(int a, int b, int c, int d) {
  return static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b) << 8U |
         static_cast<std::uint32_t>(c) << 16U | static_cast<std::uint32_t>(d) << 24U;
}

/// kCount neighbours in a row. Four are three words of memory.
template <int kCount>
struct Group {
  Levels at[kCount];
};

template <int kCount>
__device__ inline Group<kCount> load(const std::uint8_t* image, int group) {
  Group<kCount> pixels;
  if constexpr (kCount == 4) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(image) + 3 * group;
    const std::uint32_t a = words[0], b = words[1], c = words[2];
    pixels.at[0] = {byte_of(a, 0), byte_of(a, 1), byte_of(a, 2)};
    pixels.at[1] = {byte_of(a, 3), byte_of(b, 0), byte_of(b, 1)};
    pixels.at[2] = {byte_of(b, 2), byte_of(b, 3), byte_of(c, 0)};
    pixels.at[3] = {byte_of(c, 1), byte_of(c, 2), byte_of(c, 3)};
  } else {
    const std::uint8_t* at = image + 3LL * group;
    pixels.at[0] = {at[0], at[1], at[2]};
  }
  return pixels;
}

template <int kCount>
__device__ inline void store(std::uint8_t* image, int group, const Group<kCount>& pixels) {
  const auto& p = pixels.at;
  if constexpr (kCount == 4) {
    auto* words = reinterpret_cast<std::uint32_t*>(image) + 3 * group;
    words[0] = packed(p[0].r, p[0].g, p[0].b, p[1].r);
    words[1] = packed(p[1].g, p[1].b, p[2].r, p[2].g);
    words[2] = packed(p[2].b, p[3].r, p[3].g, p[3].b);
  } else {
    std::uint8_t* at = image + 3LL * group;
    at[0] = static_cast<std::uint8_t>(p[0].r);
    at[1] = static_cast<std::uint8_t>(p[0].g);
    at[2] = static_cast<std::uint8_t>(p[0].b);
  }
}

/// Four neighbours: sums of eight columns from words; mirrored columns are among the eight.
__device__ inline Group<4> blur(const std::uint8_t* image, int group, int side,
                                const SampleDraw& draw, Group<4>) {
  const int x = 4 * group % side, y = 4 * group / side;
  const int row_words = 3 * side / 4, first = 3 * x / 4 - 2;
  int sums[24] = {};  // of columns x - 2 to x + 5
#pragma unroll
  for (int k = -2; k <= 2; ++k) {
    const auto* row =
        reinterpret_cast<const std::uint32_t*>(image) + reflect_101(y + k, side) * row_words;
    std::uint32_t words[7];
#pragma unroll
    for (int j = 0; j < 7; ++j)
      words[j] = row[min(max(first + j, 0), row_words - 1)];  // beyond the row: replaced below
    const int weight = draw.columns[k < 0 ? -k : k];
#pragma unroll
    for (int i = 0; i < 24; ++i)
      sums[i] += weight * byte_of(words[(i + 2) / 4], (i + 2) % 4);
  }
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    if (x == 0) {
      sums[c] = sums[12 + c];
      sums[3 + c] = sums[9 + c];
    }
    if (x == side - 4) {
      sums[18 + c] = sums[12 + c];
      sums[21 + c] = sums[9 + c];
    }
  }
#pragma unroll
  for (int i = 0; i < 24; ++i)
    sums[i] = (sums[i] + 1) >> 1;
  Group<4> made;
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    const int* s = sums + 3 * p;
    made.at[p] = {blurred(s[0], s[3], s[6], s[9], s[12], draw.rows),
                  blurred(s[1], s[4], s[7], s[10], s[13], draw.rows),
                  blurred(s[2], s[5], s[8], s[11], s[14], draw.rows)};
  }
  return made;
}

/// One pixel of any image.
__device__ inline Group<1> blur(const std::uint8_t* image, int group, int side,
                                const SampleDraw& draw, Group<1>) {
  const int x = group % side, y = group / side;
  int made[3];
  for (int c = 0; c < 3; ++c) {
    int sums[5];
    for (int i = 0; i < 5; ++i) {
      const auto at = [&](int k) {
        return static_cast<int>(
            image[3LL * (reflect_101(y + k, side) * side + reflect_101(x + i - 2, side)) + c]);
      };
      sums[i] = column_sum(at(-2), at(-1), at(0), at(1), at(2), draw.columns);
    }
    made[c] = blurred(sums[0], sums[1], sums[2], sums[3], sums[4], draw.rows);
  }
  return {{{made[0], made[1], made[2]}}};
}

/// The sum over the block, for all of its threads.
__device__ inline unsigned block_sum(unsigned mine) {
  __shared__ unsigned of_warps[kThreads / 32];
  mine = __reduce_add_sync(0xffffffffU, mine);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  return __reduce_add_sync(0xffffffffU, of_warps[threadIdx.x % 32]);
}

/// One block, one sample. kShared: the image between the passes lies in shared memory, otherwise in
/// batch.scratch.
template <int kCount, bool kShared>
__global__ void __launch_bounds__(kThreads) fused_kernel(BatchOnDevice batch) {
  extern __shared__ std::uint32_t memory[];
  __shared__ float levels[3 * 256];
  const int side = batch.side, pixels = side * side, groups = pixels / kCount;
  const std::int64_t offset = 3LL * pixels * blockIdx.x;
  const std::uint8_t* const from = batch.crops + offset;
  std::uint8_t* const held =
      kShared ? reinterpret_cast<std::uint8_t*>(memory) : batch.scratch + offset;
  const SampleDraw draw = batch.samples[blockIdx.x].draw;
  if (batch.kind == Output::f32_chw)
    for (int i = static_cast<int>(threadIdx.x); i < 3 * 256; i += kThreads)
      levels[i] = batch.levels[i];

  const bool joined = with_brightness(draw);
  const int contrast = contrast_at(draw);
  unsigned sum = 0;
  for (int g = static_cast<int>(threadIdx.x); g < groups; g += kThreads) {
    Group<kCount> made = draw.change == Change::blur ? blur(from, g, side, draw, Group<kCount>{})
                                                     : load<kCount>(from, g);
#pragma unroll
    for (Levels& p : made.at) {
      if (draw.change == Change::grayscale)
        p.r = p.g = p.b = grey_of(p);
      else if (draw.change == Change::solarize)
        p = {solarized(p.r), solarized(p.g), solarized(p.b)};
      for (int i = 0; i < contrast; ++i)
        apply_plain_step(p, draw.order[i], draw, joined);
      sum += static_cast<unsigned>(grey_of(p));
    }
    store<kCount>(held, g, made);
  }
  const int shift = contrast_offset(block_sum(sum), pixels, draw.brightness, draw.contrast, joined);

  for (int g = static_cast<int>(threadIdx.x); g < groups; g += kThreads) {
    Group<kCount> made = load<kCount>(held, g);
#pragma unroll
    for (Levels& p : made.at) {
      p.r = contrasted(p.r, draw.brightness, draw.contrast, shift, joined);
      p.g = contrasted(p.g, draw.brightness, draw.contrast, shift, joined);
      p.b = contrasted(p.b, draw.brightness, draw.contrast, shift, joined);
      for (int i = contrast + 1; i < 3; ++i)
        apply_plain_step(p, draw.order[i], draw, joined);
    }
    if (batch.kind == Output::u8_hwc) {
      store<kCount>(static_cast<std::uint8_t*>(batch.output) + offset, g, made);
      continue;
    }
    float* const red = static_cast<float*>(batch.output) + offset;
    const auto& p = made.at;
    if constexpr (kCount == 4) {
      reinterpret_cast<float4*>(red)[g] = {levels[p[0].r], levels[p[1].r], levels[p[2].r],
                                           levels[p[3].r]};
      reinterpret_cast<float4*>(red + pixels)[g] = {levels[256 + p[0].g], levels[256 + p[1].g],
                                                    levels[256 + p[2].g], levels[256 + p[3].g]};
      reinterpret_cast<float4*>(red + 2LL * pixels)[g] = {
          levels[512 + p[0].b], levels[512 + p[1].b], levels[512 + p[2].b], levels[512 + p[3].b]};
    } else {
      red[g] = levels[p[0].r];
      red[pixels + g] = levels[256 + p[0].g];
      red[2LL * pixels + g] = levels[512 + p[0].b];
    }
  }
}

template <int kCount>
cudaError_t launch_as(const BatchOnDevice& batch, cudaStream_t stream) {
  int device = 0, most = 0;
  if (const cudaError_t error = cudaGetDevice(&device)) return error;
  if (const cudaError_t error =
          cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device))
    return error;
  constexpr int kStatic = 4096;  // levels, sums of warps and what the compiler takes
  const int image = 3 * batch.side * batch.side;
  const auto grid = static_cast<unsigned>(batch.count);
  if (image + kStatic > most) {
    fused_kernel<kCount, false><<<grid, kThreads, 0, stream>>>(batch);
    return cudaGetLastError();
  }
  if (const cudaError_t error = cudaFuncSetAttribute(
          fused_kernel<kCount, true>, cudaFuncAttributeMaxDynamicSharedMemorySize, image + 3))
    return error;
  fused_kernel<kCount, true><<<grid, kThreads, static_cast<unsigned>(image + 3), stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_fused(const BatchOnDevice& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  return batch.side % 4 == 0 && batch.side >= 8 ? launch_as<4>(batch, stream)
                                                : launch_as<1>(batch, stream);
}

}  // namespace sluice::loader::gpu
