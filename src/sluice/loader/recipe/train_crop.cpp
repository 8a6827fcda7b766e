// sluice/loader/recipe/train_crop.cpp - open the header, draw, decode the part, resize, place.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/train_crop.h"

#include "sluice/loader/recipe/photo_steps.h"

#include <algorithm>

namespace sluice::loader {
namespace {

class TrainCrop final : public Recipe {
 public:
  explicit TrainCrop(const TrainCropOptions& options)
      : options_(options), eraser_(options.erasing, output(), options.normalization) {}

  [[nodiscard]] OutputSpec output() const override {
    return {options_.side, options_.side, 3, options_.type, options_.layout};
  }
  [[nodiscard]] std::unique_ptr<RecipeScratch> make_scratch() const override {
    return std::make_unique<PhotoScratch>();
  }

  Status run(std::span<std::byte> out, std::span<const std::byte> encoded, const SampleKey& key,
             RecipeContext& context) const override {
    auto& scratch = static_cast<PhotoScratch&>(context.scratch);
    context.clock.enter(Stage::decode);
    SLUICE_TRY(const image::ImageInfo info,
               scratch.decoder.open(as_image_bytes(encoded), {.stop = context.stop}));
    const TrainCropDraw draw = draw_train_crop(options_, key, info.width, info.height);
    if (options_.dct_scaled) {
      SLUICE_CHECK(
          scratch.decoder.read_scaled(scratch.decoded, draw.part, options_.side, options_.side));
    } else {
      SLUICE_CHECK(scratch.decoder.read_region(scratch.decoded, draw.part));
    }
    SLUICE_CHECK(scratch.resize_and_place(out, output(), options_.filter, options_.normalization,
                                          draw.mirrored, context.clock));
    eraser_.run(out, key);
    return ok;
  }

  [[nodiscard]] Json describe() const override {
    Json json{{"name", "train-crop"},
              {"side", options_.side},
              {"crop", options_.crop == CropMode::random ? "random" : "centre"},
              {"filter", to_string(options_.filter)},
              {"decode", options_.dct_scaled ? "DCT-scaled" : "exact"},
              {"type", to_string(options_.type)},
              {"layout", to_string(options_.layout)}};
    if (options_.erasing.probability > 0) json["erasing"] = options_.erasing.probability;
    return json;
  }

 private:
  TrainCropOptions options_;
  Eraser eraser_;
};

}  // namespace

const char* to_string(Filter filter) {
  if (filter == Filter::bicubic) return "bicubic";
  return filter == Filter::plain ? "plain" : "antialias";
}

TrainCropDraw draw_train_crop(const TrainCropOptions& options, const SampleKey& key, int width,
                              int height) {
  if (options.crop == CropMode::centre) {
    const int size = std::min(width, height);
    return {{(width - size) / 2, (height - size) / 2, size, size}, false};
  }
  RngKey rng_key;
  rng_key.seed = key.seed;
  rng_key.epoch = key.epoch;
  rng_key.index = key.index;
  Rng rng(rng_key);
  const image::Rect part = aug::sample_resized_crop(options.ranges, rng, width, height);
  return {part, rng.below(2) == 1};
}

Result<std::shared_ptr<const Recipe>> make_train_crop(const TrainCropOptions& options) {
  SLUICE_CHECK(check_side("side", options.side));
  SLUICE_CHECK(check(options.erasing));
  return std::shared_ptr<const Recipe>(std::make_shared<TrainCrop>(options));
}

}  // namespace sluice::loader
