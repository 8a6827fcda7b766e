// sluice/loader/recipe/staged.h - the recipes of the matrix: a crop, a transform, Normalize,
// ToTensor; only the window of the crop is decoded.
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
  /// Decoded samples by index, in memory that outlives the recipe; null: samples are encoded files.
  std::function<image::ImageView<std::uint8_t>(std::uint64_t index)> decoded{};
};

/// f32 CHW, normalised with the ImageNet constants, of the size that the transform makes of
/// 224 x 224. Draws are those of a Compose of the same steps, and so are the pixels.
class Staged : public Recipe {
 public:
  /// unsupported: no such transform, or one that works on RGB only.
  static Result<std::shared_ptr<const Staged>> make(const StagedOptions& options);
  /// The crop and the transform.
  [[nodiscard]] virtual const aug::Compose& steps() const = 0;
  [[nodiscard]] virtual const image::Normalization& normalization() const = 0;
};

}  // namespace sluice::loader
