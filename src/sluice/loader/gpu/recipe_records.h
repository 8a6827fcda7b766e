// sluice/loader/gpu/recipe_records.h - the worker's part of a recipe that a GPU finishes: either
// the JPEG as it is, or its part decoded and resized; and beside it what was drawn.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/gpu/record.h"
#include "sluice/loader/gpu/router.h"
#include "sluice/loader/recipe/photo_steps.h"
#include "sluice/loader/recipe/three_augment.h"

#include <memory>
#include <span>

namespace sluice::loader::gpu {

/// Larger images are decoded by the CPU, which decodes no more than the part.
inline constexpr std::int64_t kMostPixels = std::int64_t{4} << 20;

/// Places are record_output(options.side); type and layout of `options` are those of the batch on
/// the device. Which lane a sample takes is the router's and may differ from run to run; what is
/// drawn follows from the key alone, and the lanes' pixels are within a few levels of one another.
Result<std::shared_ptr<const Recipe>> make_records(const ThreeAugmentOptions& options,
                                                   std::shared_ptr<LaneRouter> router);

/// The CPU's lane: the part decoded, resized and mirrored into `place`, and its record.
Status make_pixels(std::span<std::byte> place, std::span<const std::byte> encoded,
                   const ThreeAugmentOptions& options, const SampleKey& key, PhotoScratch& scratch,
                   StageClock& clock, const std::atomic<bool>* stop);

}  // namespace sluice::loader::gpu
