// sluice/train/model/flop_scaling.h - how the forward FLOPs grow with the image for three token
// mixers: attention, Hyena, and Hyena whose kernel depends on the input (FiLM).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/model/model_spec.h"

#include <string>
#include <vector>

namespace sluice::train {

/// FLOP of one forward pass of one sample, elementwise work included (unlike count_flops()).
/// `train`: kernels are generated in the pass; `infer`: they and their transform are kept from
/// before, which FiLM does not allow. Backward is in neither.
struct MixerFlops {
  double train = 0;
  double infer = 0;
};

struct ScalingRow {
  int grid = 0;   // patches per side
  int image = 0;  // pixels per side
  int patches = 0;
  MixerFlops attention;
  MixerFlops hyena;
  MixerFlops hyena_film;
  /// The part of `hyena` that is its long convolution (CKConv) with its kernel generator.
  MixerFlops ckconv;
  MixerFlops ckconv_film;  // the same part of hyena_film
};

/// 7, 14, 16, 20, 28, 32, 56, 112.
const std::vector<int>& scaling_grids();

/// Of a ViT with the sizes of `model`, its image apart. Precondition: family vit5, grids above 1.
std::vector<ScalingRow> flop_scaling(const ModelSpec& model, const std::vector<int>& grids);

/// grid_side,image_size,num_patches,{attention,hyena,hyena_film,ckconv,ckconv_film}_{train,infer};
/// in GFLOP.
std::string scaling_csv(const std::vector<ScalingRow>& rows);

/// Log-log plot over the patches, a dashed line at 196 (224 pixels). Precondition: two rows,
/// rising.
std::string scaling_svg(const std::vector<ScalingRow>& rows);

}  // namespace sluice::train
