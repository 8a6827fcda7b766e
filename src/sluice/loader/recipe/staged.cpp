// sluice/loader/recipe/staged.cpp - draw, decode the window, transform, place.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/staged.h"

#include "sluice/aug/geometry/crop_draws.h"
#include "sluice/aug/registry.h"
#include "sluice/core/text.h"
#include "sluice/loader/recipe/photo_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::loader {
namespace {

using StagedPixels = image::ImageView<std::uint8_t>;

constexpr const char* kFirstCrop = "RandomCrop224";
constexpr const char* kResizedCrop = "RandomResizedCrop";
constexpr int kRgbChannels = 3;

bool is_crop(std::string_view transform) {
  return transform == kFirstCrop || transform == kResizedCrop;
}

struct StagedScratch final : RecipeScratch {
  image::Decoder decoder;
  image::Image decoded, stacked;
  std::array<image::Image, 2> made;  // of the steps, in turn
  aug::Drawn drawn;
  aug::Scratch scratch;
  PlaceScratch place;
};

/// The part of the image that a crop looks at, and its draw for an image that is this part alone.
struct Window {
  image::Rect part;
  std::optional<aug::Draw> draw;  // nothing: the part is the output
};

Window window_of(const aug::RandomCrop224Draw& drawn, const aug::Shape& input) {
  const int right = std::min(drawn.x + drawn.width, input.width);
  const int bottom = std::min(drawn.y + drawn.height, input.height);
  const int left = std::max(drawn.x, 0), top = std::max(drawn.y, 0);
  Window window{{left, top, right - left, bottom - top}, std::nullopt};
  if (window.part.width == drawn.width && window.part.height == drawn.height) return window;
  window.draw = aug::Draw::of(
      aug::RandomCrop224Draw{drawn.x - left, drawn.y - top, drawn.width, drawn.height});
  return window;
}

Window window_of(const aug::RandomResizedCropDraw& drawn) {
  return {{drawn.x, drawn.y, drawn.width, drawn.height},
          aug::Draw::of(aug::RandomResizedCropDraw{0, 0, drawn.width, drawn.height, drawn.out_width,
                                                   drawn.out_height})};
}

/// The channels of every pixel three times, one after another.
void stack_thrice(image::ImageSpan<std::uint8_t> dst, StagedPixels src) {
  for (int y = 0; y < src.height(); ++y) {
    const std::uint8_t* from = src.row(y);
    std::uint8_t* to = dst.row(y);
    for (int x = 0; x < src.width(); ++x, from += kRgbChannels, to += 3 * kRgbChannels) {
      const std::uint8_t r = from[0], g = from[1], b = from[2];
      to[0] = to[3] = to[6] = r;
      to[1] = to[4] = to[7] = g;
      to[2] = to[5] = to[8] = b;
    }
  }
}

class StagedRecipe final : public Staged {
 public:
  StagedRecipe(const StagedOptions& options, aug::Compose steps, const OutputSpec& output,
               const image::Normalization& normalization)
      : options_(options),
        steps_(std::move(steps)),
        output_(output),
        normalization_(normalization),
        resized_(steps_.transform(0).spec().name == kResizedCrop) {}

  [[nodiscard]] OutputSpec output() const override { return output_; }
  [[nodiscard]] std::unique_ptr<RecipeScratch> make_scratch() const override {
    return std::make_unique<StagedScratch>();
  }
  [[nodiscard]] const aug::Compose& steps() const override { return steps_; }
  [[nodiscard]] const image::Normalization& normalization() const override {
    return normalization_;
  }

  Status run(std::span<std::byte> out, std::span<const std::byte> encoded, const SampleKey& key,
             RecipeContext& context) const override {
    auto& scratch = static_cast<StagedScratch&>(context.scratch);
    StagedPixels pixels;
    Window window;
    context.clock.enter(Stage::decode);
    if (options_.decoded) {
      const StagedPixels whole = options_.decoded(key.index);
      window = draw(scratch, key, aug::shape_of(whole));
      const image::Rect& part = window.part;
      pixels = whole.crop(part.x, part.y, part.width, part.height);
    } else {
      SLUICE_TRY(const image::ImageInfo info,
                 scratch.decoder.open(as_image_bytes(encoded), {.stop = context.stop}));
      window = draw(scratch, key, {info.width, info.height, options_.channels});
      SLUICE_CHECK(scratch.decoder.read_region(scratch.decoded, window.part));
      SLUICE_TRY(pixels, in_channels(scratch));
    }
    context.clock.enter(Stage::augment);
    SLUICE_TRY(pixels, transformed(scratch, pixels, window));
    context.clock.enter(Stage::collate);
    return place(out, output_, pixels, normalization_, false, scratch.place);
  }

  [[nodiscard]] Json describe() const override {
    return Json{{"name", "staged"},
                {"transforms", steps_.to_json()},
                {"shape", {output_.height, output_.width, output_.channels}},
                {"type", to_string(output_.type)},
                {"layout", to_string(output_.layout)}};
  }

 private:
  Window draw(StagedScratch& scratch, const SampleKey& key, aug::Shape input) const {
    steps_.sample(scratch.drawn, {.seed = key.seed, .epoch = key.epoch, .index = key.index}, input);
    const aug::Draw& first = scratch.drawn.steps[0].draw;
    return resized_ ? window_of(first.as<aug::RandomResizedCropDraw>())
                    : window_of(first.as<aug::RandomCrop224Draw>(), input);
  }

  Result<StagedPixels> in_channels(StagedScratch& scratch) const {
    const StagedPixels rgb = scratch.decoded.view<std::uint8_t>();
    if (options_.channels == kRgbChannels) return rgb;
    SLUICE_CHECK(scratch.stacked.resize_for(rgb.width(), rgb.height(), options_.channels));
    stack_thrice(scratch.stacked.span<std::uint8_t>(), rgb);
    return scratch.stacked.view<std::uint8_t>();
  }

  Result<StagedPixels> transformed(StagedScratch& scratch, StagedPixels pixels,
                                   const Window& window) const {
    std::size_t turn = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (i == 0 && !window.draw) continue;
      const aug::Transform& transform = steps_.transform(i);
      const aug::Draw& drawn = i == 0 ? *window.draw : scratch.drawn.steps[i].draw;
      const aug::Shape shape = transform.output_shape(aug::shape_of(pixels), drawn);
      image::Image& made = scratch.made[turn];
      turn = 1 - turn;
      SLUICE_CHECK(made.resize_for(shape.width, shape.height, shape.channels));
      const image::ImageSpan<std::uint8_t> dst = made.span<std::uint8_t>();
      SLUICE_CHECK(transform.apply(aug::Frames<std::uint8_t>{{&dst, 1}, {&pixels, 1}}, drawn,
                                   scratch.scratch));
      pixels = made.view<std::uint8_t>();
    }
    return pixels;
  }

  StagedOptions options_;
  aug::Compose steps_;
  OutputSpec output_;
  image::Normalization normalization_;
  bool resized_;
};

image::Normalization imagenet_of(int channels) {
  image::Normalization normalization = image::Normalization::imagenet();
  for (int c = normalization.channels; c < channels; ++c) {
    const auto to = static_cast<std::size_t>(c), from = static_cast<std::size_t>(c % kRgbChannels);
    normalization.scale[to] = normalization.scale[from];
    normalization.offset[to] = normalization.offset[from];
  }
  normalization.channels = channels;
  return normalization;
}

}  // namespace

Result<std::shared_ptr<const Staged>> Staged::make(const StagedOptions& options) {
  const aug::TransformSpec* spec = aug::find(options.transform);
  if (spec == nullptr || spec->makes_f32)
    return Error{Errc::unsupported,
                 fmt::format("sluice has no recipe of '{}'", printable(options.transform))};
  if (options.channels != kRgbChannels && options.channels != 3 * kRgbChannels)
    return Error{Errc::usage, fmt::format("channels {}: 3 or 9 are accepted", options.channels)};
  if (spec->channels == aug::ChannelRule::rgb && options.channels != kRgbChannels)
    return Error{Errc::unsupported,
                 fmt::format("{} works on RGB, not on {} channels", spec->name, options.channels)};
  std::vector<aug::Step> list;
  if (!is_crop(options.transform)) list.push_back({.transform = kFirstCrop});
  list.push_back({.transform = options.transform, .params = options.params});
  SLUICE_TRY(aug::Compose steps, aug::Compose::make(list));
  constexpr int kAny = 512;  // whatever the input, the crop leaves one size
  const aug::Shape input{kAny, kAny, options.channels};
  aug::Drawn drawn;
  steps.sample(drawn, {}, input);
  const aug::Shape made = steps.output_shape(input, drawn);
  const OutputSpec output{made.height, made.width, made.channels, BatchType::f32, Layout::chw};
  return std::shared_ptr<const Staged>(std::make_shared<StagedRecipe>(
      options, std::move(steps), output, imagenet_of(options.channels)));
}

}  // namespace sluice::loader
