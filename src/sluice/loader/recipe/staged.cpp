// sluice/loader/recipe/staged.cpp - draw, decode the window, transform, place.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/staged.h"

#include "sluice/aug/geometry/crop_draws.h"
#include "sluice/aug/registry.h"
#include "sluice/core/text.h"
#include "sluice/image/video.h"
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
  image::VideoClip clip;
  std::vector<StagedPixels> pixels;               // the frames as the last step left them
  std::array<std::vector<image::Image>, 2> made;  // of the steps, in turn
  std::vector<image::ImageSpan<std::uint8_t>> to;
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
  StagedRecipe(const StagedOptions& options, aug::Compose steps, const OutputSpec& frame,
               const image::Normalization& normalization)
      : options_(options),
        steps_(std::move(steps)),
        frame_(frame),
        normalization_(normalization),
        resized_(steps_.transform(0).spec().name == kResizedCrop) {}

  [[nodiscard]] OutputSpec output() const override {
    OutputSpec whole = frame_;
    whole.channels *= frames();
    return whole;
  }
  [[nodiscard]] OutputSpec frame_output() const override { return frame_; }
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
    scratch.pixels.resize(static_cast<std::size_t>(frames()));
    context.clock.enter(Stage::decode);
    SLUICE_TRY(const Window window, read(scratch, encoded, key, context));
    context.clock.enter(Stage::augment);
    SLUICE_CHECK(transform(scratch, window));
    context.clock.enter(Stage::collate);
    for (std::size_t f = 0; f < scratch.pixels.size(); ++f)
      SLUICE_CHECK(place(out.subspan(f * frame_.bytes(), frame_.bytes()), frame_, scratch.pixels[f],
                         normalization_, false, scratch.place));
    return ok;
  }

  [[nodiscard]] Json describe() const override {
    return Json{{"name", "staged"},
                {"transforms", steps_.to_json()},
                {"frames", frames()},
                {"shape", {frame_.height, frame_.width, frame_.channels}},
                {"type", to_string(frame_.type)},
                {"layout", to_string(frame_.layout)}};
  }

 private:
  [[nodiscard]] int frames() const { return std::max(1, options_.frames); }

  /// The part of the sample that the crop looks at, in `scratch.pixels`.
  Result<Window> read(StagedScratch& scratch, std::span<const std::byte> encoded,
                      const SampleKey& key, RecipeContext& context) const {
    if (options_.decoded)
      return cut(scratch, key, [&](int f) { return options_.decoded(key.index, f); });
    if (options_.frames > 0) {
      SLUICE_CHECK(image::decode_clip(scratch.clip, as_image_bytes(encoded), options_.frames));
      return cut(scratch, key, [&](int f) { return std::as_const(scratch.clip).frame(f); });
    }
    SLUICE_TRY(const image::ImageInfo info,
               scratch.decoder.open(as_image_bytes(encoded), {.stop = context.stop}));
    Window window = draw(scratch, key, {info.width, info.height, options_.channels});
    SLUICE_CHECK(scratch.decoder.read_region(scratch.decoded, window.part));
    SLUICE_TRY(scratch.pixels[0], in_channels(scratch));
    return window;
  }

  /// One window of all frames, which are whole.
  template <class FrameOf>
  Window cut(StagedScratch& scratch, const SampleKey& key, FrameOf frame_of) const {
    Window window = draw(scratch, key, aug::shape_of(frame_of(0)));
    const image::Rect& part = window.part;
    for (std::size_t f = 0; f < scratch.pixels.size(); ++f)
      scratch.pixels[f] =
          frame_of(static_cast<int>(f)).crop(part.x, part.y, part.width, part.height);
    return window;
  }

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

  /// The steps over all frames of `scratch.pixels`.
  Status transform(StagedScratch& scratch, const Window& window) const {
    std::size_t turn = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (i == 0 && !window.draw) continue;
      const aug::Transform& step = steps_.transform(i);
      const aug::Draw& drawn = i == 0 ? *window.draw : scratch.drawn.steps[i].draw;
      const aug::Shape shape = step.output_shape(aug::shape_of(scratch.pixels[0]), drawn);
      std::vector<image::Image>& made = scratch.made[turn];
      turn = 1 - turn;
      made.resize(scratch.pixels.size());
      scratch.to.clear();
      for (image::Image& frame : made) {
        SLUICE_CHECK(frame.resize_for(shape.width, shape.height, shape.channels));
        scratch.to.push_back(frame.span<std::uint8_t>());
      }
      SLUICE_CHECK(step.apply(aug::Frames<std::uint8_t>{scratch.to, scratch.pixels}, drawn,
                              scratch.scratch));
      for (std::size_t f = 0; f < made.size(); ++f)
        scratch.pixels[f] = made[f].view<std::uint8_t>();
    }
    return ok;
  }

  StagedOptions options_;
  aug::Compose steps_;
  OutputSpec frame_;
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
  if (options.frames < 0 || options.frames > image::kMaxClipFrames)
    return Error{Errc::usage, fmt::format("frames {}: 0 to {} is accepted", options.frames,
                                          image::kMaxClipFrames)};
  if (options.frames > 0 && options.channels != kRgbChannels)
    return Error{Errc::usage, fmt::format("channels {}: clips have 3", options.channels)};
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
  const OutputSpec frame{made.height, made.width, made.channels, BatchType::f32, Layout::chw};
  return std::shared_ptr<const Staged>(std::make_shared<StagedRecipe>(
      options, std::move(steps), frame, imagenet_of(options.channels)));
}

}  // namespace sluice::loader
