// sluice/loader/episodes/scene.h - frames of a generated episode: a still scene, a camera that
// drifts, something that moves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"
#include "sluice/image/inputs/photo.h"
#include "sluice/image/resize/resize.h"
#include "sluice/loader/episodes/presets.h"

#include <cstdint>
#include <vector>

namespace sluice::loader::episodes {

/// The same (seed, index, size) gives the same pixels on any machine. Photographs at a third of the
/// size, enlarged, in 32 levels: PNGs of 0.5 to 0.8 bytes per pixel, which is what cameras of
/// robots give after their own compression, and not the 1.5 of a sharp and grainy picture. Keeps
/// its buffers: reuse one per thread.
class Scene {
 public:
  /// A new scene of frames of this size.
  Status open(std::uint64_t seed, std::uint64_t index, int width, int height);
  /// Frame `t`, encoded; JPEG has quality 90 and 4:2:0. Valid until the next call.
  Result<std::span<const std::uint8_t>> frame(int t, Codec codec);

 private:
  image::PhotoMaker photos_;
  image::BilinearResizer resizer_;
  image::Image small_;
  image::Image scene_;
  image::Image frame_;
  std::vector<std::uint8_t> encoded_;
  int phase_ = 0;
};

}  // namespace sluice::loader::episodes
