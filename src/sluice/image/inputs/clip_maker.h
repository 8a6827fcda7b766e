// sluice/image/inputs/clip_maker.h - synthetic clips: a camera moves over a photograph, things move
// in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/inputs/photo.h"
#include "sluice/image/video.h"

#include <cstdint>

namespace sluice::image {

/// Frames and size that clip `index` of `seed` has: 16 to 48 frames of 320x240, as short actions
/// are filmed.
struct ClipSpec {
  int frames = 0;
  int width = 0;
  int height = 0;
};
ClipSpec clip_spec(std::uint64_t seed, std::uint64_t index);

/// Frames in integers only: the same on any machine. Keeps its buffers: reuse one per thread.
class ClipMaker {
 public:
  /// Sides of `spec` at least 16 and even, so that they can be encoded.
  Status make(VideoClip& out, std::uint64_t seed, std::uint64_t index, const ClipSpec& spec);

 private:
  PhotoMaker maker_;
  Image scene_, things_;
};

}  // namespace sluice::image
