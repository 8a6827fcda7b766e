// sluice/loader/gpu_module/nvjpeg_abi.h - the few functions of nvJPEG 12 and 13 that are called,
// declared here: its header is not needed to build.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace sluice::loader::gpu::nvjpeg {

enum : int { kSuccess = 0, kBadJpeg = 3, kNotSupported = 4, kAllocatorFailure = 5 };  // status
enum : int { kBackendGpuHybrid = 2, kBackendHardware = 3 };
enum : int { kOutputRgbi = 5 };  // interleaved, in channel[0]
/// Chroma as libjpeg's "fancy" upsampling: without it p99 is 4 levels off, with it 0.
enum : unsigned { kWithoutPipeline = 1U, kInterpolate = 1U << 5U };

struct Handle;
struct State;
struct Image {
  unsigned char* channel[4];
  std::size_t pitch[4];
};

struct Functions {
  int (*GetProperty)(int type, int* value);  // 0 major, 1 minor, 2 patch
  int (*CreateEx)(int backend, void* device_allocator, void* pinned_allocator, unsigned flags,
                  Handle** handle);
  int (*Destroy)(Handle* handle);
  int (*GetHardwareDecoderInfo)(Handle* handle, unsigned* engines, unsigned* cores_each);
  int (*JpegStateCreate)(Handle* handle, State** state);
  int (*JpegStateDestroy)(State* state);
  int (*DecodeBatchedInitialize)(Handle* handle, State* state, int batch, int cpu_threads,
                                 int output);
  int (*DecodeBatched)(Handle* handle, State* state, const unsigned char* const* data,
                       const std::size_t* lengths, Image* destinations, cudaStream_t stream);
};

const char* status_name(int status);

/// Fills the functions; null `file`: the environment's SLUICE_NVJPEG, then the usual places. False
/// and `why` where none is found. The library stays loaded.
bool load(const char* file, Functions& functions, char* path, std::size_t path_bytes, char* why,
          std::size_t why_bytes);

}  // namespace sluice::loader::gpu::nvjpeg
