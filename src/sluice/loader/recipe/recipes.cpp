// sluice/loader/recipe/recipes.cpp - resize, arrays as they are, a list of transforms.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/recipes.h"

#include "sluice/image/npy.h"
#include "sluice/loader/recipe/photo_steps.h"

#include <fmt/format.h>

#include <cstring>

namespace sluice::loader {
namespace {

Json described(const char* name, const OutputSpec& spec) {
  return Json{{"name", name},
              {"shape", {spec.height, spec.width, spec.channels}},
              {"type", to_string(spec.type)},
              {"layout", to_string(spec.layout)}};
}

class Resize final : public Recipe {
 public:
  explicit Resize(const ResizeOptions& options) : options_(options) {}

  [[nodiscard]] OutputSpec output() const override {
    return {options_.height, options_.width, 3, options_.type, options_.layout};
  }
  [[nodiscard]] std::unique_ptr<RecipeScratch> make_scratch() const override {
    return std::make_unique<PhotoScratch>();
  }
  Status run(std::span<std::byte> out, std::span<const std::byte> encoded, const SampleKey&,
             RecipeContext& context) const override {
    auto& scratch = static_cast<PhotoScratch&>(context.scratch);
    context.clock.enter(Stage::decode);
    SLUICE_CHECK(
        scratch.decoder.decode(scratch.decoded, as_image_bytes(encoded), {.stop = context.stop}));
    return scratch.resize_and_place(out, output(), options_.filter, options_.normalization, false,
                                    context.clock);
  }
  [[nodiscard]] Json describe() const override {
    Json json = described("resize", output());
    json["filter"] = to_string(options_.filter);
    return json;
  }

 private:
  ResizeOptions options_;
};

Result<OutputSpec> output_of(const image::NpyArray& array) {
  std::array<std::int64_t, 3> dims{1, 1, 1};
  if (array.shape.empty() || array.shape.size() > dims.size())
    return Error{Errc::invalid_input,
                 fmt::format("an array of {} dimensions; accepted: 1 to 3", array.shape.size())};
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    if (array.shape[i] < 1 || array.shape[i] > std::int64_t{1} << 30)
      return Error{Errc::invalid_input,
                   fmt::format("an array with a side of {}; accepted: 1 to 2^30", array.shape[i])};
    dims[i] = array.shape[i];
  }
  OutputSpec spec;
  spec.height = static_cast<int>(dims[0]);
  spec.width = static_cast<int>(dims[1]);
  spec.channels = static_cast<int>(dims[2]);
  spec.type = array.dtype == image::DType::u8 ? BatchType::u8 : BatchType::f32;
  spec.layout = Layout::hwc;
  return spec;
}

class Array final : public Recipe {
 public:
  explicit Array(const OutputSpec& output) : output_(output) {}

  [[nodiscard]] OutputSpec output() const override { return output_; }
  [[nodiscard]] std::unique_ptr<RecipeScratch> make_scratch() const override {
    return std::make_unique<RecipeScratch>();
  }
  Status run(std::span<std::byte> out, std::span<const std::byte> encoded, const SampleKey&,
             RecipeContext& context) const override {
    context.clock.enter(Stage::decode);
    SLUICE_TRY(const image::NpyArray array, image::parse_npy(as_image_bytes(encoded)));
    SLUICE_TRY(const OutputSpec found, output_of(array));
    if (found != output_)
      return Error{
          Errc::invalid_input,
          fmt::format("an array of {}x{}x{} {}; this batch takes {}x{}x{} {}", found.height,
                      found.width, found.channels, to_string(found.type), output_.height,
                      output_.width, output_.channels, to_string(output_.type))};
    context.clock.enter(Stage::collate);
    std::memcpy(out.data(), array.data.data(), out.size());
    return ok;
  }
  [[nodiscard]] Json describe() const override { return described("array", output_); }

 private:
  OutputSpec output_;
};

struct ComposeScratch final : PhotoScratch {
  std::vector<image::Image> frames = std::vector<image::Image>(1);
  std::vector<image::Image> made;
  aug::Drawn drawn;
  aug::Workspace workspace;
};

class Composed final : public Recipe {
 public:
  Composed(std::shared_ptr<const aug::Compose> transforms, const OutputSpec& output,
           const image::Normalization& normalization)
      : transforms_(std::move(transforms)), output_(output), normalization_(normalization) {}

  [[nodiscard]] OutputSpec output() const override { return output_; }
  [[nodiscard]] std::unique_ptr<RecipeScratch> make_scratch() const override {
    return std::make_unique<ComposeScratch>();
  }
  Status run(std::span<std::byte> out, std::span<const std::byte> encoded, const SampleKey& key,
             RecipeContext& context) const override {
    auto& scratch = static_cast<ComposeScratch&>(context.scratch);
    context.clock.enter(Stage::decode);
    image::Image& decoded = scratch.frames[0];
    SLUICE_CHECK(scratch.decoder.decode(decoded, as_image_bytes(encoded), {.stop = context.stop}));
    context.clock.enter(Stage::augment);
    aug::ItemKey item;
    item.seed = key.seed;
    item.epoch = key.epoch;
    item.index = key.index;
    transforms_->sample(scratch.drawn, item,
                        {decoded.width(), decoded.height(), decoded.channels()});
    SLUICE_CHECK(
        transforms_->apply(scratch.made, scratch.frames, scratch.drawn, scratch.workspace));
    context.clock.enter(Stage::collate);
    const image::Image& made = scratch.made[0];
    if (made.dtype() == image::DType::f32) return place(out, output_, made.view<float>());
    return place(out, output_, made.view<std::uint8_t>(), normalization_, false, scratch.place);
  }
  [[nodiscard]] Json describe() const override {
    Json json = described("compose", output_);
    json["transforms"] = transforms_->to_json();
    return json;
  }

 private:
  std::shared_ptr<const aug::Compose> transforms_;
  OutputSpec output_;
  image::Normalization normalization_;
};

}  // namespace

Result<std::shared_ptr<const Recipe>> make_resize(const ResizeOptions& options) {
  SLUICE_CHECK(check_side("width", options.width));
  SLUICE_CHECK(check_side("height", options.height));
  return std::shared_ptr<const Recipe>(std::make_shared<Resize>(options));
}

Result<std::shared_ptr<const Recipe>> make_array(const OutputSpec& output) {
  if (output.type != BatchType::u8 && output.type != BatchType::f32)
    return Error{Errc::usage, fmt::format("arrays are copied as they are: u8 or f32, not {}",
                                          to_string(output.type))};
  return std::shared_ptr<const Recipe>(std::make_shared<Array>(output));
}

Result<OutputSpec> array_output(std::span<const std::byte> npy) {
  SLUICE_TRY(const image::NpyArray array, image::parse_npy(as_image_bytes(npy)));
  return output_of(array);
}

Result<std::shared_ptr<const Recipe>> make_compose(std::shared_ptr<const aug::Compose> transforms,
                                                   const OutputSpec& output,
                                                   const image::Normalization& normalization) {
  SLUICE_CHECK(check_side("width", output.width));
  SLUICE_CHECK(check_side("height", output.height));
  return std::shared_ptr<const Recipe>(
      std::make_shared<Composed>(std::move(transforms), output, normalization));
}

}  // namespace sluice::loader
