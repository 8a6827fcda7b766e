// sluice/plan/recipes.cpp - recipes from the table of transforms.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/recipes.h"

#include "sluice/core/text.h"

namespace sluice::plan {
namespace {

constexpr std::string_view kFirst = "RandomCrop224";

bool is_crop(std::string_view name) {
  const Transform* transform = find_transform(name);
  return transform != nullptr && transform->shape == OutputShape::crop;
}

}  // namespace

std::vector<std::string> recipe_stages(std::string_view transform) {
  std::vector<std::string> stages;
  if (!is_crop(transform)) stages.emplace_back(kFirst);
  stages.emplace_back(transform);
  stages.emplace_back("Normalize");
  stages.emplace_back("ToTensor");
  return stages;
}

std::string recipe_name(std::string_view transform) {
  return join(recipe_stages(transform), "+");
}

std::optional<std::string> recipe_transform(std::string_view recipe) {
  for (const Transform& transform : transforms()) {
    if (has_recipe(transform) && recipe_name(transform.name) == recipe)
      return std::string(transform.name);
  }
  return std::nullopt;
}

bool has_recipe(const Transform& transform) {
  if (transform.name == "Normalize") return false;
  int libraries = 0;
  for (const char letter : transform.libraries)
    libraries += letter != 'D';
  return libraries >= 2;
}

RecipeShape recipe_shape(const Transform& transform) {
  constexpr int kCrop = 224;
  switch (transform.shape) {
    case OutputShape::target: {
      const int size = transform.params.at("target_size").get<int>();
      return {size, size};
    }
    case OutputShape::longest:
    case OutputShape::smallest: {
      const int size = transform.params.at("max_size").get<int>();
      return {size, size};  // the crop before it is square
    }
    case OutputShape::padded: {
      const int size = kCrop + 2 * transform.params.at("padding").get<int>();
      return {size, size};
    }
    default:
      return {kCrop, kCrop};
  }
}

}  // namespace sluice::plan
