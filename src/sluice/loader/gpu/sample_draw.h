// sluice/loader/gpu/sample_draw.h - draws of a recipe as the kernels take them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/gpu/table.h"
#include "sluice/loader/recipe/three_augment.h"

namespace sluice::loader::gpu {

SampleDraw sample_draw(const ThreeAugmentDraw& draw);
/// With what is erased.
SampleDraw sample_draw(const ThreeAugmentOptions& options, const SampleKey& key,
                       const ThreeAugmentDraw& draw);

}  // namespace sluice::loader::gpu
