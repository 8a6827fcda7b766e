// sluice/train/cuda_module/launch.h - what every kernel of the module is launched with. Device code
// only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/kernels.h"

#include <cuda_runtime_api.h>

namespace sluice::train::cuda {

struct Launch {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;  // for the partial sums of one call; calls follow one another
  std::size_t workspace_bytes = 0;
  int multiprocessors = 1;
  int architecture = 80;  // 90: sm_90
};

// One per record of kernels.h, each in the .cu file of its name. Returns the launch's error.
cudaError_t launch(const PatchifyCall& call, const Launch& on);
cudaError_t launch(const UnpatchifyCall& call, const Launch& on);
cudaError_t launch(const AssembleCall& call, const Launch& on);
cudaError_t launch(const AssembleBackwardCall& call, const Launch& on);
cudaError_t launch(const EmbedCall& call, const Launch& on);
cudaError_t launch(const EmbedBackwardCall& call, const Launch& on);
cudaError_t launch(const RmsNormCall& call, const Launch& on);
cudaError_t launch(const RmsNormBackwardCall& call, const Launch& on);
cudaError_t launch(const QkNormRopeCall& call, const Launch& on);
cudaError_t launch(const QkNormRopeBackwardCall& call, const Launch& on);
cudaError_t launch(const AttentionCall& call, const Launch& on);
cudaError_t launch(const AttentionBackwardCall& call, const Launch& on);
cudaError_t launch(const PackTurnsCall& call, const Launch& on);
cudaError_t launch(const QkvAttentionCall& call, const Launch& on);
cudaError_t launch(const QkvAttentionBackwardCall& call, const Launch& on);
cudaError_t launch(const AddBranchCall& call, const Launch& on);
cudaError_t launch(const AddBranchBackwardCall& call, const Launch& on);
cudaError_t launch(const GeluCall& call, const Launch& on);
cudaError_t launch(const GeluBackwardCall& call, const Launch& on);
cudaError_t launch(const ProductGeluCall& call, const Launch& on);
cudaError_t launch(const ProductGeluBackwardCall& call, const Launch& on);
cudaError_t launch(const ReadOutCall& call, const Launch& on);
cudaError_t launch(const ReadOutBackwardCall& call, const Launch& on);
cudaError_t launch(const CrossEntropyCall& call, const Launch& on);
cudaError_t launch(const ClearCall& call, const Launch& on);
cudaError_t launch(const CopyWeightsCall& call, const Launch& on);
cudaError_t launch(const FoldLayerScaleCall& call, const Launch& on);
cudaError_t launch(const UpdateCall& call, const Launch& on);
cudaError_t launch(const MixImagesCall& call, const Launch& on);
cudaError_t launch(const UnpackCall& call, const Launch& on);

}  // namespace sluice::train::cuda
