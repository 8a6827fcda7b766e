// sluice/loader/recipe/recipes.h - the plainer recipes: resize, arrays as they are, a list of
// transforms.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/compose.h"
#include "sluice/image/normalize.h"
#include "sluice/loader/recipe/recipe.h"
#include "sluice/loader/recipe/train_crop.h"

#include <memory>

namespace sluice::loader {

struct ResizeOptions {
  int width = 224;
  int height = 224;
  Filter filter = Filter::plain;
  image::Normalization normalization = image::Normalization::imagenet();  // f32 and bf16 only
  BatchType type = BatchType::f32;
  Layout layout = Layout::chw;
};
/// The whole image, decoded and resized.
Result<std::shared_ptr<const Recipe>> make_resize(const ResizeOptions& options);

/// The samples of an .npy file, copied as they are. Every file must hold `output`: its shape (1 to
/// 3 dimensions; missing ones are 1) and type, u8 or f32; another is invalid_input.
Result<std::shared_ptr<const Recipe>> make_array(const OutputSpec& output);
/// What the first bytes of a file say make_array() should be given.
Result<OutputSpec> array_output(std::span<const std::byte> npy);

/// The whole image through `transforms`, then placed. What comes out must have the size of
/// `output`; another is invalid_input. u8 that comes out is normalised on the way into f32 or bf16,
/// f32 is taken as it is.
Result<std::shared_ptr<const Recipe>> make_compose(std::shared_ptr<const aug::Compose> transforms,
                                                   const OutputSpec& output,
                                                   const image::Normalization& normalization);

}  // namespace sluice::loader
