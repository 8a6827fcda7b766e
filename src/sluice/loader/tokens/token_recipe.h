// sluice/loader/tokens/token_recipe.h - the sequences of a TokenDataset as numbers of a batch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/recipe/recipe.h"

#include <cstdint>
#include <memory>

namespace sluice::loader {

struct TokenRecipeOptions {
  std::uint32_t sequence = 0;    // one token more goes into the batch: the last target
  std::uint32_t vocabulary = 0;  // of the model; an id that it has not is invalid_input
};
/// i32, 1 x (sequence + 1) x 1, of uint16 or uint32 as the bytes of a sample say.
std::shared_ptr<const Recipe> make_tokens(const TokenRecipeOptions& options);

}  // namespace sluice::loader
