// python/native/recipe.cpp - words of Python to recipes of the loader.
// SPDX-License-Identifier: Apache-2.0
#include "python/native/recipe.h"

#include "sluice/aug/compose.h"
#include "sluice/core/text.h"
#include "sluice/loader/recipe/recipes.h"
#include "sluice/loader/recipe/three_augment.h"
#include "sluice/loader/recipe/train_crop.h"

#include <fmt/format.h>

#include "python/native/function_recipe.h"
#include <array>
#include <string>
#include <utility>

namespace sluice::python {
namespace {

/// The value whose name is the word under `key`.
template <class T, std::size_t N>
Result<T> choice(const Json& description, const char* key,
                 const std::array<std::pair<const char*, T>, N>& accepted) {
  const std::string word = description.at(key).get<std::string>();
  std::string names;
  for (const auto& [name, value] : accepted) {
    if (word == name) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return usage_error(fmt::format("{} is '{}'; accepted: {}", key, printable(word), names));
}

using loader::BatchType;
using loader::Filter;
using loader::Layout;
constexpr std::array<std::pair<const char*, BatchType>, 4> kTypes{{{"uint8", BatchType::u8},
                                                                   {"float32", BatchType::f32},
                                                                   {"float16", BatchType::f16},
                                                                   {"bfloat16", BatchType::bf16}}};
constexpr std::array<std::pair<const char*, Layout>, 2> kLayouts{
    {{"chw", Layout::chw}, {"hwc", Layout::hwc}}};
constexpr std::array<std::pair<const char*, Filter>, 3> kFilters{
    {{"plain", Filter::plain}, {"antialias", Filter::antialias}, {"bicubic", Filter::bicubic}}};

/// Null: ImageNet's.
Result<image::Normalization> normalization_of(const Json& description) {
  if (description.at("mean").is_null()) return image::Normalization::imagenet();
  const auto mean = description.at("mean").get<std::array<float, 3>>();
  const auto std = description.at("std").get<std::array<float, 3>>();
  return image::Normalization::make(mean, std);
}

/// Null: the recipe's own.
void set_ranges(aug::ResizedCropRanges& ranges, const Json& description) {
  if (!description.at("scale").is_null())
    ranges.scale = description.at("scale").get<std::array<double, 2>>();
  if (!description.at("ratio").is_null())
    ranges.ratio = description.at("ratio").get<std::array<double, 2>>();
}

/// What the recipes have in common, in fields of the same names.
template <class Options>
Status fill(Options& options, const Json& description) {
  SLUICE_TRY(options.filter, choice(description, "filter", kFilters));
  SLUICE_TRY(options.type, choice(description, "dtype", kTypes));
  SLUICE_TRY(options.layout, choice(description, "layout", kLayouts));
  SLUICE_TRY(options.normalization, normalization_of(description));
  return ok;
}

Result<int> side_of(const Json& description) {
  const int height = description.at("height").get<int>();
  const int width = description.at("width").get<int>();
  if (height == width) return width;
  return usage_error(fmt::format("size is {} x {}; accepted by '{}': one number, a square", height,
                                 width, description.at("name").get<std::string>()));
}

Result<std::shared_ptr<const loader::Recipe>> make_crop(const Json& description,
                                                        loader::CropMode mode) {
  loader::TrainCropOptions options;
  SLUICE_CHECK(fill(options, description));
  SLUICE_TRY(options.side, side_of(description));
  options.crop = mode;
  set_ranges(options.ranges, description);
  options.dct_scaled = description.at("scaled_decode").get<bool>();
  options.erasing.probability = description.at("erasing").get<double>();
  return loader::make_train_crop(options);
}

Result<std::shared_ptr<const loader::Recipe>> make_three(const Json& description) {
  loader::ThreeAugmentOptions options;
  SLUICE_CHECK(fill(options, description));
  SLUICE_TRY(options.side, side_of(description));
  set_ranges(options.ranges, description);
  options.erasing.probability = description.at("erasing").get<double>();
  return loader::make_three_augment(options);
}

Result<std::shared_ptr<const loader::Recipe>> make_whole(const Json& description) {
  loader::ResizeOptions options;
  SLUICE_CHECK(fill(options, description));
  options.height = description.at("height").get<int>();
  options.width = description.at("width").get<int>();
  return loader::make_resize(options);
}

Result<loader::OutputSpec> output_of(const Json& description) {
  loader::OutputSpec output;
  output.height = description.at("height").get<int>();
  output.width = description.at("width").get<int>();
  output.channels = 3;
  SLUICE_TRY(output.type, choice(description, "dtype", kTypes));
  SLUICE_TRY(output.layout, choice(description, "layout", kLayouts));
  return output;
}

Result<std::shared_ptr<const loader::Recipe>> make_steps(const Json& description) {
  SLUICE_TRY(auto compose, aug::Compose::make(steps_of(description.at("steps"))));
  SLUICE_TRY(const auto output, output_of(description));
  SLUICE_TRY(const auto normalization, normalization_of(description));
  return loader::make_compose(std::make_shared<const aug::Compose>(std::move(compose)), output,
                              normalization);
}

Result<std::shared_ptr<const loader::Recipe>> make_steps_around(
    const Json& description, const std::shared_ptr<const loader::Dataset>& dataset,
    const std::shared_ptr<Function>& function) {
  FunctionRecipeOptions options;
  options.before = steps_of(description.at("steps"));
  options.after = steps_of(description.at("after"));
  SLUICE_TRY(options.output, output_of(description));
  SLUICE_TRY(options.normalization, normalization_of(description));
  return make_function_recipe(function, dataset, options);
}

}  // namespace

std::vector<aug::Step> steps_of(const Json& list) {
  std::vector<aug::Step> steps;
  for (const Json& one : list)
    steps.push_back({.transform = one.at("transform").get<std::string>(),
                     .params = one.at("params"),
                     .p = one.at("p").get<double>(),
                     .name = one.at("name").get<std::string>()});
  return steps;
}

Result<std::shared_ptr<const loader::Recipe>> make_recipe(
    const Json& description, const std::shared_ptr<const loader::Dataset>& dataset,
    const std::shared_ptr<Function>& function) {
  if (function != nullptr) return make_steps_around(description, dataset, function);
  const std::string name = description.at("name").get<std::string>();
  if (name == "imagenet-train") return make_crop(description, loader::CropMode::random);
  if (name == "centre-crop") return make_crop(description, loader::CropMode::centre);
  if (name == "three-augment") return make_three(description);
  if (name == "resize") return make_whole(description);
  if (name == "steps") return make_steps(description);
  if (name == "array") {
    storage::ReadBuffer buffer;
    SLUICE_TRY(const auto bytes, dataset->read(0, buffer));
    SLUICE_TRY(const auto output, loader::array_output(bytes));
    return loader::make_array(output);
  }
  return usage_error(fmt::format(
      "recipe is '{}'; accepted: imagenet-train, centre-crop, three-augment, resize, array, or a "
      "list of transforms",
      printable(name)));
}

}  // namespace sluice::python
