// python/native/function_recipe.cpp - decode, transforms, the function, transforms, place.
// SPDX-License-Identifier: Apache-2.0
#include "python/native/function_recipe.h"

#include "sluice/loader/recipe/photo_steps.h"

#include <iterator>
#include <utility>

namespace sluice::python {
namespace {

using image::Image;
using loader::OutputSpec;
using loader::Stage;

struct FunctionScratch final : loader::PhotoScratch {
  std::vector<Image> frames = std::vector<Image>(1), made = std::vector<Image>(1);
  std::shared_ptr<Image> lent = std::make_shared<Image>();
  aug::Drawn drawn;
  aug::Workspace workspace;
};

class FunctionRecipe final : public loader::Recipe {
 public:
  FunctionRecipe(std::shared_ptr<Function> function, std::shared_ptr<const loader::Dataset> dataset,
                 aug::Compose before, aug::Compose after, const FunctionRecipeOptions& options)
      : function_(std::move(function)),
        dataset_(std::move(dataset)),
        before_(std::move(before)),
        after_(std::move(after)),
        output_(options.output),
        normalization_(options.normalization) {}

  [[nodiscard]] OutputSpec output() const override { return output_; }
  [[nodiscard]] std::unique_ptr<loader::RecipeScratch> make_scratch() const override {
    return std::make_unique<FunctionScratch>();
  }

  Status run(std::span<std::byte> out, std::span<const std::byte> encoded,
             const loader::SampleKey& key, loader::RecipeContext& context) const override {
    auto& scratch = static_cast<FunctionScratch&>(context.scratch);
    context.clock.enter(Stage::decode);
    SLUICE_CHECK(scratch.decoder.decode(scratch.frames[0], loader::as_image_bytes(encoded),
                                        {.stop = context.stop}));
    context.clock.enter(Stage::augment);
    SLUICE_CHECK(apply(before_, scratch, key));
    std::optional<Size> wanted;
    if (after_.size() == 0) wanted = Size{output_.height, output_.width};
    std::swap(*scratch.lent, scratch.frames[0]);
    SLUICE_CHECK(function_->call(scratch.frames[0], scratch.lent, wanted, key, *dataset_));
    SLUICE_CHECK(apply(after_, scratch, key));
    context.clock.enter(Stage::collate);
    const Image& made = scratch.frames[0];
    if (made.dtype() == image::DType::f32) return loader::place(out, output_, made.view<float>());
    return loader::place(out, output_, made.view<std::uint8_t>(), normalization_, false,
                         scratch.place);
  }

  [[nodiscard]] Json describe() const override {
    return {{"name", "function"},
            {"shape", {output_.height, output_.width, output_.channels}},
            {"type", to_string(output_.type)},
            {"layout", to_string(output_.layout)},
            {"before", before_.to_json()},
            {"function", function_->name()},
            {"after", after_.to_json()}};
  }

 private:
  /// `frames` to `frames`.
  static Status apply(const aug::Compose& steps, FunctionScratch& scratch,
                      const loader::SampleKey& key) {
    if (steps.size() == 0) return ok;
    const Image& image = scratch.frames[0];
    steps.sample(scratch.drawn, {.seed = key.seed, .epoch = key.epoch, .index = key.index},
                 {image.width(), image.height(), image.channels()});
    SLUICE_CHECK(steps.apply(scratch.made, scratch.frames, scratch.drawn, scratch.workspace));
    std::swap(scratch.made, scratch.frames);
    return ok;
  }

  std::shared_ptr<Function> function_;
  std::shared_ptr<const loader::Dataset> dataset_;
  aug::Compose before_, after_;
  OutputSpec output_;
  image::Normalization normalization_;
};

}  // namespace

Result<std::shared_ptr<const loader::Recipe>> make_function_recipe(
    std::shared_ptr<Function> function, std::shared_ptr<const loader::Dataset> dataset,
    const FunctionRecipeOptions& options) {
  std::vector<aug::Step> all = options.before;
  all.insert(all.end(), options.after.begin(), options.after.end());
  SLUICE_TRY(const aug::Compose whole, aug::Compose::make(all));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].name = whole.name(i);  // "#2" counts over both parts: no two steps draw the same
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(options.before.size());
  SLUICE_TRY(auto before, aug::Compose::make({all.begin(), middle}));
  SLUICE_TRY(auto after, aug::Compose::make({middle, all.end()}));
  return std::shared_ptr<const loader::Recipe>(std::make_shared<FunctionRecipe>(
      std::move(function), std::move(dataset), std::move(before), std::move(after), options));
}

}  // namespace sluice::python
