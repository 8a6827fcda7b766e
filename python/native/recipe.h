// python/native/recipe.h - the recipe that sluice.Recipe describes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/compose.h"
#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/loader/data/dataset.h"
#include "sluice/loader/recipe/recipe.h"

#include "python/native/function.h"
#include <memory>
#include <vector>

namespace sluice::python {

/// Transforms with their parameters, as python/sluice writes lists of them.
std::vector<aug::Step> steps_of(const Json& list);

/// `description` is what Recipe._json() of python/sluice/recipe.py writes: every key is there.
/// Names and words that are not known are usage errors. `array` reads the first sample of `dataset`
/// for its shape. `function` is the one among its steps; null: there is none.
Result<std::shared_ptr<const loader::Recipe>> make_recipe(
    const Json& description, const std::shared_ptr<const loader::Dataset>& dataset,
    const std::shared_ptr<Function>& function);

}  // namespace sluice::python
