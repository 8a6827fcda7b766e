// sluice/plan/recipes.h - what a DataLoader row applies to an item: crop, transform, Normalize,
// ToTensor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/plan/transforms.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::plan {

/// {"RandomCrop224", "Resize", "Normalize", "ToTensor"}; a crop is its own first stage.
std::vector<std::string> recipe_stages(std::string_view transform);
/// The stages joined with '+'.
std::string recipe_name(std::string_view transform);
/// The transform that a recipe measures; nothing when it is not the name of a recipe.
std::optional<std::string> recipe_transform(std::string_view recipe);
/// Normalize ends every recipe and is none of its own; any other needs two libraries that have it
/// in their pipelines.
bool has_recipe(const Transform& transform);
/// Height and width that the recipe gives, where both are known: {224, 224}, with Pad 244.
struct RecipeShape {
  int height, width;
};
RecipeShape recipe_shape(const Transform& transform);

}  // namespace sluice::plan
