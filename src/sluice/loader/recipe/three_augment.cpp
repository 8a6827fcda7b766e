// sluice/loader/recipe/three_augment.cpp - draw, decode the part, resize, change, jitter, place.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/three_augment.h"

#include "sluice/aug/colour/colour_chain.h"
#include "sluice/aug/filters/gaussian.h"
#include "sluice/aug/kernels/grey.h"
#include "sluice/aug/kernels/separable.h"
#include "sluice/aug/kernels/solarize.h"
#include "sluice/aug/staged.h"
#include "sluice/loader/recipe/photo_steps.h"

#include <utility>

namespace sluice::loader {
namespace {

using Pixels = image::ImageSpan<std::uint8_t>;

/// body(row, samples) for every row.
template <class Body>
void for_rows_of(const Pixels& pixels, Body body) {
  for (int y = 0; y < pixels.height(); ++y)
    body(pixels.row(y), pixels.row_samples());
}

Status blur_image(image::Image& image, double sigma, ThreeAugmentScratch& scratch) {
  SLUICE_CHECK(scratch.blurred.resize_for(image.width(), image.height(), 3));
  const aug::GaussianTaps taps = aug::gaussian_taps(kBlurSize, sigma);
  const auto weights =
      aug::kernels::symmetric_weights(taps.radius, taps.columns, taps.rows, taps.exact);
  scratch.memory.restart();
  const auto line =
      scratch.memory.take<std::int16_t>(aug::kernels::line_samples(image.width(), 3, taps.radius));
  const Pixels to = scratch.blurred.span<std::uint8_t>();
  const image::ImageView<std::uint8_t> from = image.view<std::uint8_t>();
  aug::for_each_staged(aug::Frames<std::uint8_t>{{&to, 1}, {&from, 1}}, scratch.memory,
                       [&](const Pixels& dst, const image::ImageView<std::uint8_t>& src) {
                         aug::kernels::blur(dst, src, weights, line.data());
                       });
  std::swap(image, scratch.blurred);
  return ok;
}

struct ThreeAugmentPhotoScratch final : PhotoScratch {
  ThreeAugmentScratch augment;
};

class ThreeAugment final : public Recipe {
 public:
  explicit ThreeAugment(const ThreeAugmentOptions& options)
      : options_(options), eraser_(options.erasing, output(), options.normalization) {}

  [[nodiscard]] OutputSpec output() const override {
    return {options_.side, options_.side, 3, options_.type, options_.layout};
  }
  [[nodiscard]] std::unique_ptr<RecipeScratch> make_scratch() const override {
    return std::make_unique<ThreeAugmentPhotoScratch>();
  }

  Status run(std::span<std::byte> out, std::span<const std::byte> encoded, const SampleKey& key,
             RecipeContext& context) const override {
    auto& scratch = static_cast<ThreeAugmentPhotoScratch&>(context.scratch);
    context.clock.enter(Stage::decode);
    SLUICE_TRY(const image::ImageInfo info,
               scratch.decoder.open(as_image_bytes(encoded), {.stop = context.stop}));
    const ThreeAugmentDraw draw = draw_three_augment(options_, key, info.width, info.height);
    SLUICE_CHECK(scratch.decoder.read_region(scratch.decoded, draw.part));
    context.clock.enter(Stage::augment);
    SLUICE_CHECK(scratch.resized.resize_for(options_.side, options_.side, 3));
    SLUICE_CHECK(scratch.resize(scratch.resized.span<std::uint8_t>(), options_.filter));
    // Nothing that follows knows left from right: mirroring is part of the last write.
    SLUICE_CHECK(apply_three_augment(scratch.resized, draw, scratch.augment));
    context.clock.enter(Stage::collate);
    SLUICE_CHECK(place(out, output(), scratch.resized.view<std::uint8_t>(), options_.normalization,
                       draw.mirrored, scratch.place));
    eraser_.run(out, key);
    return ok;
  }

  [[nodiscard]] Json describe() const override { return loader::describe(options_); }

 private:
  ThreeAugmentOptions options_;
  Eraser eraser_;
};

}  // namespace

const char* to_string(ThreeAugmentChange change) {
  switch (change) {
    case ThreeAugmentChange::grayscale:
      return "grayscale";
    case ThreeAugmentChange::solarize:
      return "solarize";
    case ThreeAugmentChange::blur:
      return "blur";
  }
  return "?";
}

ThreeAugmentDraw draw_three_augment(const ThreeAugmentOptions& options, const SampleKey& key,
                                    int width, int height) {
  RngKey rng_key;
  rng_key.seed = key.seed;
  rng_key.epoch = key.epoch;
  rng_key.index = key.index;
  Rng rng(rng_key);
  ThreeAugmentDraw draw;
  draw.part = aug::sample_resized_crop(options.ranges, rng, width, height);
  draw.mirrored = rng.below(2) == 1;
  draw.change = static_cast<ThreeAugmentChange>(rng.below(3));
  draw.sigma = rng.uniform(options.sigma[0], options.sigma[1]);
  const auto factor = [&] { return rng.uniform(1 - options.jitter, 1 + options.jitter); };
  draw.brightness = factor();
  draw.contrast = factor();
  draw.saturation = factor();
  rng.shuffle(std::span<int>(draw.order));
  return draw;
}

Status apply_three_augment(image::Image& image, const ThreeAugmentDraw& draw,
                           ThreeAugmentScratch& scratch) {
  const auto pixels = [&] { return image.span<std::uint8_t>(); };
  switch (draw.change) {
    case ThreeAugmentChange::grayscale:
      for_rows_of(pixels(), [](std::uint8_t* row, std::size_t samples) {
        aug::kernels::grey_rgb(row, row, samples / 3, 3);
      });
      break;
    case ThreeAugmentChange::solarize:
      for_rows_of(pixels(), [](std::uint8_t* row, std::size_t samples) {
        aug::kernels::solarize(row, row, samples, kSolarizeThreshold);
      });
      break;
    case ThreeAugmentChange::blur:
      SLUICE_CHECK(blur_image(image, draw.sigma, scratch));
      break;
  }
  aug::ColourChainDraw colours{draw.brightness, draw.contrast, draw.saturation, 0};
  std::copy(draw.order.begin(), draw.order.end(), colours.order.begin());
  colours.order[3] = 3;
  const Pixels to = pixels();
  const image::ImageView<std::uint8_t> from = to;
  aug::colour_chain_fast(aug::Frames<std::uint8_t>{{&to, 1}, {&from, 1}}, colours, scratch.memory);
  return ok;
}

Result<std::shared_ptr<const Recipe>> make_three_augment(const ThreeAugmentOptions& options) {
  SLUICE_CHECK(check(options));
  return std::shared_ptr<const Recipe>(std::make_shared<ThreeAugment>(options));
}

Status check(const ThreeAugmentOptions& options) {
  SLUICE_CHECK(check_side("side", options.side));
  SLUICE_CHECK(check(options.erasing));
  if (options.filter != Filter::plain) return ok;
  return Error{Errc::usage, "three-augment with filter 'plain'; accepted: antialias, bicubic"};
}

Json describe(const ThreeAugmentOptions& options) {
  Json json{{"name", "three-augment"},
            {"side", options.side},
            {"crop", "random"},
            {"filter", to_string(options.filter)},
            {"changes", "grayscale, solarize or blur"},
            {"jitter", options.jitter},
            {"type", to_string(options.type)},
            {"layout", to_string(options.layout)}};
  if (options.erasing.probability > 0) json["erasing"] = options.erasing.probability;
  return json;
}

}  // namespace sluice::loader
