// sluice/loader/recipe/clip_crop.h - what training asks of a video: some frames from a drawn moment
// on, one random part of all of them, resized, maybe mirrored, normalised.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/recipe/train_crop.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::loader {

struct ClipCropOptions {
  int frames = 16;
  int stride = 2;  // every second frame
  /// Side, filter, ranges, normalisation, type and layout of a frame. `centre`: frames spread over
  /// the whole video, the central square. DCT scaling means nothing here.
  TrainCropOptions crop{.filter = Filter::antialias};
};

/// The frames of a video of `total` for one sample: from a drawn start on, every `stride`-th. One
/// that is too short is taken from its beginning and repeats its last frame.
std::vector<std::int64_t> draw_clip_frames(const ClipCropOptions& options, const SampleKey& key,
                                           std::int64_t total);

/// mp4, mov, avi, mkv or webm in. Out: T x 3 x side x side (an output of 3 T channels), or in the
/// layout hwc T x side x side x 3 (of T side rows). One draw holds for all frames of a clip. Only
/// what the frames need is decoded, from the key frame before them. Refuses (usage) sides that a
/// frame's recipe refuses, fewer than 1 or more than 256 frames, and strides out of 1 to 256.
Result<std::shared_ptr<const Recipe>> make_clip_crop(const ClipCropOptions& options);

}  // namespace sluice::loader
