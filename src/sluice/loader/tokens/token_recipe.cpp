// sluice/loader/tokens/token_recipe.cpp - tokens widened into their place.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/tokens/token_recipe.h"

#include "sluice/loader/tokens/token_index.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>

namespace sluice::loader {
namespace {

class TokenRecipe final : public Recipe {
 public:
  explicit TokenRecipe(const TokenRecipeOptions& options) : options_(options) {}

  [[nodiscard]] OutputSpec output() const override {
    return {1, static_cast<int>(options_.sequence) + 1, 1, BatchType::i32, Layout::hwc};
  }
  [[nodiscard]] std::unique_ptr<RecipeScratch> make_scratch() const override {
    return std::make_unique<RecipeScratch>();
  }

  Status run(std::span<std::byte> out, std::span<const std::byte> encoded, const SampleKey& /*key*/,
             RecipeContext& context) const override {
    context.clock.enter(Stage::collate);
    const std::size_t count = options_.sequence + std::size_t{1};
    assert(out.size() == count * sizeof(std::int32_t));
    const TokenType type =
        encoded.size() == count * bytes_of(TokenType::u16) ? TokenType::u16 : TokenType::u32;
    if (encoded.size() != count * bytes_of(type))
      return Error{Errc::invalid_input,
                   fmt::format("has {} bytes; {} uint16 or uint32 tokens are accepted",
                               encoded.size(), count)};
    if (const auto found = first_beyond(encoded, type, options_.vocabulary))
      return Error{Errc::invalid_input,
                   fmt::format("token {} from there on is {}; 0 to {} are accepted", *found,
                               token_at(encoded, type, *found), options_.vocabulary - 1)};
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t id = token_at(encoded, type, i);
      std::memcpy(out.data() + i * sizeof id, &id, sizeof id);
    }
    return ok;
  }

  [[nodiscard]] Json describe() const override {
    return Json{
        {"name", "tokens"}, {"sequence", options_.sequence}, {"vocabulary", options_.vocabulary}};
  }

 private:
  TokenRecipeOptions options_;
};

}  // namespace

std::shared_ptr<const Recipe> make_tokens(const TokenRecipeOptions& options) {
  return std::make_shared<TokenRecipe>(options);
}

}  // namespace sluice::loader
