// sluice/loader/gpu_module/kernels.h - what the kernels of the module take.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/gpu/table.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sluice::loader::gpu {

/// One sample as kernels see it, a row of an array on the device.
struct DeviceSample {
  const std::uint8_t* image = nullptr;  // decoded, RGB; null: its pixels lie where crops go
  std::int32_t width = 0, height = 0;
  std::int64_t pitch = 0;  // bytes
  SampleDraw draw;
};

/// Samples of one batch; every image made is side x side x 3.
struct BatchOnDevice {
  const DeviceSample* samples = nullptr;
  int count = 0;
  int side = 0;
  std::uint8_t* crops = nullptr;  // [count, side, side, 3]
  std::uint8_t* scratch =
      nullptr;  // as large: of separate steps, and of sides too large for a block
  unsigned long long* sums = nullptr;  // one per sample, of separate steps
  const float* levels = nullptr;       // [3, 256]
  void* output = nullptr;
  Output kind = Output::u8_hwc;
};

// Each returns the launch's error.
cudaError_t launch_crop(const BatchOnDevice& batch, Resample resample, cudaStream_t stream);
cudaError_t launch_fused(const BatchOnDevice& batch, cudaStream_t stream);
/// In place of crops, then output.
cudaError_t launch_separate(const BatchOnDevice& batch, cudaStream_t stream);
/// Of the output: what was drawn to be erased.
cudaError_t launch_erase(const BatchOnDevice& batch, cudaStream_t stream);
/// crops as they are to f32.
cudaError_t launch_normalise(const BatchOnDevice& batch, cudaStream_t stream);

}  // namespace sluice::loader::gpu
