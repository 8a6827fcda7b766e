// sluice/loader/recipe/numbers.h - an array of any shape as the pixels that a model of images
// takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/recipe/recipe.h"

#include <memory>

namespace sluice::loader {

struct NumbersOptions {
  int side = 224;  // of the square with three planes that is filled, value after value
};
/// The values of an .npy file in their order, u8 as -1 to 1 and f32 as they are, then zeros up to
/// 3 × side × side; f32 CHW. An array that holds more, or a value that is not finite, is
/// invalid_input.
Result<std::shared_ptr<const Recipe>> make_numbers(const NumbersOptions& options);

/// The smallest multiple of `patch` whose square with three planes holds so many values.
int side_for(std::size_t values, int patch);

}  // namespace sluice::loader
