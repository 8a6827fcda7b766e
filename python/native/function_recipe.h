// python/native/function_recipe.h - a list of transforms with a function of Python among them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/compose.h"
#include "sluice/image/normalize.h"
#include "sluice/loader/data/dataset.h"
#include "sluice/loader/recipe/recipe.h"

#include "python/native/function.h"
#include <memory>
#include <vector>

namespace sluice::python {

struct FunctionRecipeOptions {
  std::vector<aug::Step> before, after;  // of the function
  loader::OutputSpec output;
  image::Normalization normalization;
};

/// As loader::make_compose() of both lists, with the function between them. Steps draw what they
/// would draw in one list. When nothing follows the function it must give the size of `output`.
Result<std::shared_ptr<const loader::Recipe>> make_function_recipe(
    std::shared_ptr<Function> function, std::shared_ptr<const loader::Dataset> dataset,
    const FunctionRecipeOptions& options);

}  // namespace sluice::python
