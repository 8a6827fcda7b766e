// sluice/train/cuda_module/tokens.cu - from images or ids to the first residual, from the last one
// to the readout.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/vectors.cuh"

namespace sluice::train::cuda {
namespace {

constexpr int kThreads = 256;

/// A TokenShape as elements: divisions are not for kernels.
struct Sizes {
  std::int64_t batch, of_sample, of_patches, dim;
  std::int64_t tokens, patches;
  bool mean;
};
Sizes sizes_of(const TokenShape& s) {
  return {s.batch, s.tokens * s.dim, s.patches() * s.dim, s.dim, s.tokens, s.patches(), s.mean};
}

/// grid.y for `across` blocks per sample: the samples that a thread walks through are as many for
/// every block, and blocks enough to fill the device.
unsigned sample_blocks(std::int64_t batch, unsigned across, const Launch& on) {
  const std::int64_t wanted = std::min<std::int64_t>(on.multiprocessors * 32 / across + 1, 65535);
  const std::int64_t each = (batch + wanted - 1) / wanted;
  return static_cast<unsigned>((batch + each - 1) / each);
}

/// Runs of kVector pixels of a patch's row (kLast: with their three channels) from images to
/// patches, or back. grid.y: samples; grid.x: the runs of one, in the order of the patches.
template <class Act, int kVector, bool kLast, bool kBack>
__global__ void __launch_bounds__(kThreads)
    patchify_kernel(Act* patches, float* images, unsigned patch, unsigned grid, unsigned image,
                    std::int64_t batch) {
  const unsigned across = patch / kVector, per_plane = across * patch,
                 per_patch = per_plane * (kLast ? 1U : 3U);
  const unsigned run = blockIdx.x * kThreads + threadIdx.x;
  if (run >= per_patch * grid * grid) return;
  const unsigned of = run / per_patch, in = run % per_patch;
  const unsigned channel = in / per_plane, y = in % per_plane / across;
  const unsigned x = in % across * kVector;
  const unsigned row = of / grid * patch + y, left = of % grid * patch + x;
  constexpr int kChannels = kLast ? 3 : 1;
  for (std::int64_t sample = blockIdx.y; sample < batch; sample += gridDim.y) {
    float* pixels = images + sample * 3 * image * image +
                    (kLast ? (std::int64_t{row} * image + left) * 3
                           : (std::int64_t{channel} * image + row) * image + left);
    Act* values = patches + (sample * grid * grid + of) * 3 * patch * patch +
                  (std::int64_t{channel} * patch + y) * patch + x;
    float held[kChannels][kVector], all[kChannels * kVector];
    if constexpr (kBack) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        const Pack<Act, kVector> got = load<kVector>(values + c * patch * patch);
#pragma unroll
        for (int i = 0; i < kVector; ++i)
          all[i * kChannels + c] = got[i];
      }
#pragma unroll
      for (int k = 0; k < kChannels; ++k) {
#pragma unroll
        for (int i = 0; i < kVector; ++i)
          held[k][i] = all[k * kVector + i];
        store(pixels + k * kVector, held[k]);
      }
    } else {
#pragma unroll
      for (int k = 0; k < kChannels; ++k) {
        const Pack<float, kVector> got = load<kVector>(pixels + k * kVector);
#pragma unroll
        for (int i = 0; i < kVector; ++i)
          all[k * kVector + i] = got[i];
      }
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
#pragma unroll
        for (int i = 0; i < kVector; ++i)
          held[c][i] = all[i * kChannels + c];
        store(values + c * patch * patch, held[c]);
      }
    }
  }
}

template <class Act, bool kBack>
cudaError_t patchify(Act* patches, float* images, const TokenShape& s, const Launch& on) {
  constexpr int kWide = kTogether<Act>;
  // image % kWide == 0 follows; kVector floats of a run start at a multiple of 16 bytes.
  const bool wide = s.patch % kWide == 0 && s.image % kWide == 0 && aligned(patches, images);
  const std::int64_t runs =
      3 * s.patches() * s.patch * s.patch / (s.channels_last ? 3 : 1) / (wide ? kWide : 1);
  if (runs == 0 || s.batch == 0) return cudaSuccess;
  const unsigned across = blocks_for(runs, kThreads);
  const dim3 grid(across, sample_blocks(s.batch, across, on));
  const auto start = [&](auto kernel) {
    kernel<<<grid, kThreads, 0, on.stream>>>(patches, images, static_cast<unsigned>(s.patch),
                                             static_cast<unsigned>(s.grid()),
                                             static_cast<unsigned>(s.image), s.batch);
  };
  if (wide && s.channels_last)
    start(patchify_kernel<Act, kWide, true, kBack>);
  else if (wide)
    start(patchify_kernel<Act, kWide, false, kBack>);
  else if (s.channels_last)
    start(patchify_kernel<Act, 1, true, kBack>);
  else
    start(patchify_kernel<Act, 1, false, kBack>);
  return cudaGetLastError();
}

/// Thread: kVector elements of one token, of every sample that grid.y gives it.
template <class Act, class Res, int kVector>
__global__ void __launch_bounds__(kThreads)
    assemble_kernel(Res* tokens, const Act* embedded, const float* position,
                    const float* class_token, const float* registers, Sizes s) {
  const std::int64_t at = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) * kVector;
  if (at >= s.of_sample) return;
  const float* given = at < s.of_patches           ? position + at
                       : at < s.of_patches + s.dim ? class_token + (at - s.of_patches)
                                                   : registers + (at - s.of_patches - s.dim);
  const Pack<float, kVector> own = load<kVector>(given);
  for (std::int64_t sample = blockIdx.y; sample < s.batch; sample += gridDim.y) {
    Pack<Act, kVector> patch{};
    if (at < s.of_patches) patch = load<kVector>(embedded + sample * s.of_patches + at);
    float out[kVector];
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      out[i] = at < s.of_patches ? patch[i] + own[i] : own[i];
    store(tokens + sample * s.of_sample + at, out);
  }
}

/// Thread: kVector elements of one token, over the samples of one slice (grid.y), whose sum it
/// leaves in partial[slice][tokens * dim].
template <class Act, class Res, int kVector>
__global__ void __launch_bounds__(kThreads)
    assemble_backward_kernel(Act* d_embedded, float* partial, const Res* d_tokens, Sizes s,
                             std::int64_t of_slice) {
  const std::int64_t at = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) * kVector;
  if (at >= s.of_sample) return;
  const std::int64_t first = blockIdx.y * of_slice, end = min(first + of_slice, s.batch);
  float sum[kVector] = {};
  constexpr int kAtOnce = 4;
  for (std::int64_t sample = first; sample < end; sample += kAtOnce) {
    Pack<Res, kVector> got[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (sample + k < end) got[k] = load<kVector>(d_tokens + (sample + k) * s.of_sample + at);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (sample + k >= end) break;
      float out[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        out[i] = got[k][i];
        sum[i] += out[i];
      }
      if (at < s.of_patches) store(d_embedded + (sample + k) * s.of_patches + at, out);
    }
  }
  store(partial + blockIdx.y * s.of_sample + at, sum);
}
/// The slices in order, to where the token's gradient belongs.
__global__ void __launch_bounds__(kThreads)
    assemble_sums_kernel(float* d_position, float* d_class_token, float* d_registers,
                         const float* partial, int slices, Sizes s) {
  const std::int64_t at = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (at >= s.of_sample) return;
  const bool is_class = at >= s.of_patches && at < s.of_patches + s.dim;
  float* to = at < s.of_patches ? d_position : is_class ? d_class_token : d_registers;
  if (to == nullptr) return;
  to += at - (at < s.of_patches ? 0 : is_class ? s.of_patches : s.of_patches + s.dim);
  float total = 0;
#pragma unroll 8
  for (int slice = 0; slice < slices; ++slice)
    total += partial[slice * s.of_sample + at];
  *to += total;
}

template <class Act, class Res>
cudaError_t assemble_backward(const AssembleBackwardCall& c, const Launch& on) {
  const TokenShape& s = c.shape;
  auto* d_embedded = static_cast<Act*>(c.d_embedded.data);
  const auto* d_tokens = static_cast<const Res*>(c.d_tokens.data);
  auto* partial = static_cast<float*>(on.workspace);
  constexpr int kWide = kTogether<Act, Res>;
  const bool wide = s.dim % kWide == 0 && aligned(d_embedded, d_tokens);
  const std::int64_t of_sample = s.tokens * s.dim;
  const std::int64_t threads = (of_sample + (wide ? kWide : 1) - 1) / (wide ? kWide : 1);
  const auto room = static_cast<std::int64_t>(on.workspace_bytes / sizeof(float)) /
                    std::max<std::int64_t>(1, of_sample);
  const std::int64_t wanted = std::int64_t{on.multiprocessors} * 1024 / threads + 1;
  const std::int64_t most = std::min({wanted, room, (s.batch + 3) / 4, std::int64_t{65535}});
  if (room < 1) return cudaErrorMemoryAllocation;
  const std::int64_t of_slice = (s.batch + most - 1) / most;
  const std::int64_t slices = (s.batch + of_slice - 1) / of_slice;
  const dim3 grid(blocks_for(threads, kThreads), static_cast<unsigned>(slices));
  if (wide)
    assemble_backward_kernel<Act, Res, kWide>
        <<<grid, kThreads, 0, on.stream>>>(d_embedded, partial, d_tokens, sizes_of(s), of_slice);
  else
    assemble_backward_kernel<Act, Res, 1>
        <<<grid, kThreads, 0, on.stream>>>(d_embedded, partial, d_tokens, sizes_of(s), of_slice);
  assemble_sums_kernel<<<blocks_for(of_sample, kThreads), kThreads, 0, on.stream>>>(
      c.d_position, c.d_class_token, c.d_registers, partial, static_cast<int>(slices), sizes_of(s));
  return cudaGetLastError();
}

constexpr int kReadOutSlices = 8;

/// Block 32 x kReadOutSlices: 32 · kVector columns of one sample; the slices share the patches.
template <class Res, int kVector>
__global__ void __launch_bounds__(32 * kReadOutSlices)
    read_out_kernel(Res* y, const Res* tokens, Sizes s) {
  __shared__ float of_slice[kReadOutSlices][32 * kVector];
  const std::int64_t column = (blockIdx.x * std::int64_t{32} + threadIdx.x) * kVector;
  const std::int64_t first = s.mean ? 0 : s.patches, end = s.mean ? s.patches : s.patches + 1;
  for (std::int64_t sample = blockIdx.y; sample < s.batch; sample += gridDim.y) {
    float sum[kVector] = {};
    if (column < s.dim) {
#pragma unroll 4
      for (std::int64_t t = first + threadIdx.y; t < end; t += kReadOutSlices) {
        const Pack<Res, kVector> got =
            load<kVector>(tokens + (sample * s.tokens + t) * s.dim + column);
#pragma unroll
        for (int i = 0; i < kVector; ++i)
          sum[i] += got[i];
      }
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      of_slice[threadIdx.y][i * 32 + threadIdx.x] = sum[i];
    __syncthreads();
    if (threadIdx.y == 0 && column < s.dim) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        for (int slice = 1; slice < kReadOutSlices; ++slice)
          sum[i] += of_slice[slice][i * 32 + threadIdx.x];
        sum[i] /= static_cast<float>(end - first);
      }
      store(y + sample * s.dim + column, sum);
    }
    __syncthreads();
  }
}

template <class Act, class Res, int kVector>
__global__ void __launch_bounds__(kThreads)
    read_out_backward_kernel(Res* d_tokens, Act* copy, const Res* dy, Sizes s) {
  const std::int64_t at = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) * kVector;
  if (at >= s.of_sample) return;
  const std::int64_t token = static_cast<unsigned>(at) / static_cast<unsigned>(s.dim);
  const bool read = s.mean ? token < s.patches : token == s.patches;
  const float share = s.mean ? 1 / static_cast<float>(s.patches) : 1.0F;
  for (std::int64_t sample = blockIdx.y; sample < s.batch; sample += gridDim.y) {
    float out[kVector] = {};
    if (read) {
      const Pack<Res, kVector> got = load<kVector>(dy + sample * s.dim + (at - token * s.dim));
#pragma unroll
      for (int i = 0; i < kVector; ++i)
        out[i] = got[i] * share;
    }
    store(d_tokens + sample * s.of_sample + at, out);
    if (copy != nullptr) store(copy + sample * s.of_sample + at, out);
  }
}

}  // namespace

cudaError_t launch(const PatchifyCall& c, const Launch& on) {
  return with_type(c.patches.type, [&]<class Act>(Type<Act>) {
    return patchify<Act, false>(static_cast<Act*>(c.patches.data), const_cast<float*>(c.images),
                                c.shape, on);
  });
}

cudaError_t launch(const UnpatchifyCall& c, const Launch& on) {
  return with_type(c.d_patches.type, [&]<class Act>(Type<Act>) {
    return patchify<Act, true>(const_cast<Act*>(static_cast<const Act*>(c.d_patches.data)),
                               c.d_images, c.shape, on);
  });
}

cudaError_t launch(const AssembleCall& c, const Launch& on) {
  return with_types(
      c.embedded.type, c.tokens.type, [&]<class Act, class Res>(Type<Act>, Type<Res>) {
        auto* tokens = static_cast<Res*>(c.tokens.data);
        const auto* embedded = static_cast<const Act*>(c.embedded.data);
        const TokenShape& s = c.shape;
        constexpr int kWide = kTogether<Act, Res>;
        const bool wide =
            s.dim % kWide == 0 && aligned(tokens, embedded, c.position, c.class_token, c.registers);
        if (s.batch == 0) return cudaSuccess;
        const unsigned across = blocks_for(s.tokens * s.dim / (wide ? kWide : 1), kThreads);
        const dim3 grid(across, sample_blocks(s.batch, across, on));
        if (wide)
          assemble_kernel<Act, Res, kWide><<<grid, kThreads, 0, on.stream>>>(
              tokens, embedded, c.position, c.class_token, c.registers, sizes_of(s));
        else
          assemble_kernel<Act, Res, 1><<<grid, kThreads, 0, on.stream>>>(
              tokens, embedded, c.position, c.class_token, c.registers, sizes_of(s));
        return cudaGetLastError();
      });
}

cudaError_t launch(const AssembleBackwardCall& c, const Launch& on) {
  if (c.shape.batch == 0) return cudaSuccess;
  return with_types(c.d_embedded.type, c.d_tokens.type,
                    [&]<class Act, class Res>(Type<Act>, Type<Res>) {
                      return assemble_backward<Act, Res>(c, on);
                    });
}

cudaError_t launch(const ReadOutCall& c, const Launch& on) {
  if (c.shape.batch == 0) return cudaSuccess;
  return with_type(c.tokens.type, [&]<class Res>(Type<Res>) {
    auto* y = static_cast<Res*>(c.y.data);
    const auto* tokens = static_cast<const Res*>(c.tokens.data);
    constexpr int kWide = kTogether<Res>;
    const bool wide = c.shape.dim % kWide == 0 && aligned(y, tokens);
    const unsigned across = blocks_for(c.shape.dim, 32 * (wide ? kWide : 1));
    const dim3 grid(across, sample_blocks(c.shape.batch, across, on));
    const dim3 block(32, kReadOutSlices);
    if (wide)
      read_out_kernel<Res, kWide><<<grid, block, 0, on.stream>>>(y, tokens, sizes_of(c.shape));
    else
      read_out_kernel<Res, 1><<<grid, block, 0, on.stream>>>(y, tokens, sizes_of(c.shape));
    return cudaGetLastError();
  });
}

cudaError_t launch(const ReadOutBackwardCall& c, const Launch& on) {
  if (c.shape.batch == 0) return cudaSuccess;
  const Dtype act = c.copy.data == nullptr ? c.d_tokens.type : c.copy.type;
  return with_types(act, c.d_tokens.type, [&]<class Act, class Res>(Type<Act>, Type<Res>) {
    auto* d_tokens = static_cast<Res*>(c.d_tokens.data);
    auto* copy = static_cast<Act*>(c.copy.data);
    const auto* dy = static_cast<const Res*>(c.dy.data);
    const TokenShape& s = c.shape;
    constexpr int kWide = kTogether<Act, Res>;
    const bool wide = s.dim % kWide == 0 && aligned(d_tokens, copy, dy);
    const unsigned across = blocks_for(s.tokens * s.dim / (wide ? kWide : 1), kThreads);
    const dim3 grid(across, sample_blocks(s.batch, across, on));
    if (wide)
      read_out_backward_kernel<Act, Res, kWide>
          <<<grid, kThreads, 0, on.stream>>>(d_tokens, copy, dy, sizes_of(s));
    else
      read_out_backward_kernel<Act, Res, 1>
          <<<grid, kThreads, 0, on.stream>>>(d_tokens, copy, dy, sizes_of(s));
    return cudaGetLastError();
  });
}

}  // namespace sluice::train::cuda
