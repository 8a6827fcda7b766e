// sluice/loader/recipe/staged.h - the recipes of the matrix: a crop, a transform, Normalize,
// ToTensor; of an image only the window of the crop is decoded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/compose.h"
#include "sluice/image/image.h"
#include "sluice/image/normalize.h"
#include "sluice/loader/recipe/recipe.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sluice::loader {

struct StagedOptions {
  std::string transform;         // RandomCrop224 goes before it, unless it is a crop itself
  Json params = Json::object();  // of the transform
  int channels = 3;              // 3, or 9: the pixels of a file three times
  int frames = 0;                // of a clip, spread over a video; 0: samples are images
  /// Decoded samples by index, in memory that outlives the recipe; null: samples are encoded files.
  /// An image is its frame 0.
  std::function<image::ImageView<std::uint8_t>(std::uint64_t index, int frame)> decoded{};
};

/// f32 CHW, normalised with the ImageNet constants, of the size that the transform makes of
/// 224 x 224. Draws are those of a Compose of the same steps, and so are the pixels. A clip of T
/// frames is T x 3 x H x W (an output of 3 T channels); one draw holds for all its frames.
class Staged : public Recipe {
 public:
  /// unsupported: no such transform, or one that works on RGB only. usage: channels but 3 or 9, or
  /// clips of other than 3; frames out of 0 to image::kMaxClipFrames.
  static Result<std::shared_ptr<const Staged>> make(const StagedOptions& options);
  /// The crop and the transform.
  [[nodiscard]] virtual const aug::Compose& steps() const = 0;
  [[nodiscard]] virtual const image::Normalization& normalization() const = 0;
  /// Of one frame; that of an image is output().
  [[nodiscard]] virtual OutputSpec frame_output() const = 0;
};

}  // namespace sluice::loader
