// sluice/loader/recipe/clip_crop.cpp - draw the frames, decode them, crop, resize and place each.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/clip_crop.h"

#include "sluice/image/video.h"
#include "sluice/loader/recipe/photo_steps.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::loader {
namespace {

constexpr int kMostFrames = 256;

struct ClipScratch : RecipeScratch {
  image::VideoClip clip;
  PhotoScratch photo;
};

class ClipCrop final : public Recipe {
 public:
  explicit ClipCrop(const ClipCropOptions& options) : options_(options) {}

  [[nodiscard]] OutputSpec output() const override {
    OutputSpec spec = frame_output();
    (spec.layout == Layout::chw ? spec.channels : spec.height) *= options_.frames;
    return spec;
  }
  [[nodiscard]] std::unique_ptr<RecipeScratch> make_scratch() const override {
    return std::make_unique<ClipScratch>();
  }

  Status run(std::span<std::byte> out, std::span<const std::byte> encoded, const SampleKey& key,
             RecipeContext& context) const override {
    auto& scratch = static_cast<ClipScratch&>(context.scratch);
    context.clock.enter(Stage::decode);
    const bool spread = options_.crop.crop == CropMode::centre;
    SLUICE_CHECK(image::decode_clip(
        scratch.clip, as_image_bytes(encoded), [&](const image::VideoInfo& info) {
          return spread ? image::clip_indices(info.frames, options_.frames)
                        : draw_clip_frames(options_, key, info.frames);
        }));
    const TrainCropDraw draw =
        draw_train_crop(options_.crop, key, scratch.clip.width(), scratch.clip.height());
    const OutputSpec frame = frame_output();
    for (int f = 0; f < options_.frames; ++f) {
      context.clock.enter(Stage::augment);
      SLUICE_CHECK(scratch.photo.resized.resize_for(frame.width, frame.height, 3));
      const auto part =
          scratch.clip.frame(f).crop(draw.part.x, draw.part.y, draw.part.width, draw.part.height);
      const auto resized = scratch.photo.resized.span<std::uint8_t>();
      SLUICE_CHECK(options_.crop.filter == Filter::plain
                       ? scratch.photo.plain.run(resized, part)
                       : scratch.photo.antialias.run(resized, part));
      context.clock.enter(Stage::collate);
      SLUICE_CHECK(place(out.subspan(static_cast<std::size_t>(f) * frame.bytes(), frame.bytes()),
                         frame, scratch.photo.resized.view<std::uint8_t>(),
                         options_.crop.normalization, draw.mirrored, scratch.photo.place));
    }
    return ok;
  }

  [[nodiscard]] Json describe() const override {
    return Json{{"name", "clip-crop"},
                {"frames", options_.frames},
                {"stride", options_.stride},
                {"side", options_.crop.side},
                {"crop", options_.crop.crop == CropMode::random ? "random" : "centre"},
                {"filter", to_string(options_.crop.filter)},
                {"type", to_string(options_.crop.type)},
                {"layout", to_string(options_.crop.layout)}};
  }

 private:
  [[nodiscard]] OutputSpec frame_output() const {
    return {options_.crop.side, options_.crop.side, 3, options_.crop.type, options_.crop.layout};
  }

  ClipCropOptions options_;
};

Status check_count(const char* name, int value) {
  if (value >= 1 && value <= kMostFrames) return ok;
  return Error{Errc::usage, fmt::format("{} {}: 1 to {} is accepted", name, value, kMostFrames)};
}

}  // namespace

std::vector<std::int64_t> draw_clip_frames(const ClipCropOptions& options, const SampleKey& key,
                                           std::int64_t total) {
  const std::int64_t span = std::int64_t{options.frames - 1} * options.stride + 1;
  RngKey rng_key;
  rng_key.seed = key.seed;
  rng_key.epoch = key.epoch;
  rng_key.index = key.index;
  rng_key.stage = 1;  // apart from the draws of the crop
  Rng rng(rng_key);
  const std::int64_t start =
      total > span
          ? static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(total - span + 1)))
          : 0;
  std::vector<std::int64_t> frames(static_cast<std::size_t>(options.frames));
  for (std::size_t i = 0; i < frames.size(); ++i)
    frames[i] = std::min(start + static_cast<std::int64_t>(i) * options.stride, total - 1);
  return frames;
}

Result<std::shared_ptr<const Recipe>> make_clip_crop(const ClipCropOptions& options) {
  SLUICE_CHECK(check_side("side", options.crop.side));
  SLUICE_CHECK(check_count("frames", options.frames));
  SLUICE_CHECK(check_count("stride", options.stride));
  return std::shared_ptr<const Recipe>(std::make_shared<ClipCrop>(options));
}

}  // namespace sluice::loader
