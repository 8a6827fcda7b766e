// sluice/loader/recipe/three_augment.h - the recipe of DeiT III and ViT-5: a random part, mirrored
// or not, one of three changes, colour jitter. Draws are data, so that a GPU applies the same ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/geometry/resized_crop.h"
#include "sluice/aug/scratch.h"
#include "sluice/image/codec.h"
#include "sluice/image/normalize.h"
#include "sluice/loader/recipe/recipe.h"
#include "sluice/loader/recipe/train_crop.h"

#include <array>
#include <cstdint>
#include <memory>

namespace sluice::loader {

enum class ThreeAugmentChange : std::uint8_t { grayscale, solarize, blur };
const char* to_string(ThreeAugmentChange change);

/// Order: part, resize, mirror, exactly one of grayscale, solarize and blur (a third each), then
/// brightness, contrast and saturation in a drawn order, then normalise, then erasing.
struct ThreeAugmentOptions {
  int side = 224;
  Filter filter = Filter::antialias;  // or bicubic
  aug::ResizedCropRanges ranges{{0.08, 1.0}, {3.0 / 4, 4.0 / 3}};
  std::array<double, 2> sigma{0.1, 2.0};  // of the blur, 5 x 5 pixels
  double jitter = 0.3;                    // factors are uniform in 1 - jitter to 1 + jitter
  ErasingOptions erasing{};
  /// f32 and bf16 only.
  image::Normalization normalization = image::Normalization::imagenet();
  BatchType type = BatchType::f32;
  Layout layout = Layout::chw;
};

/// Samples at or above it are inverted by solarize.
inline constexpr std::uint8_t kSolarizeThreshold = 128;
inline constexpr int kBlurSize = 5;

struct ThreeAugmentDraw {
  image::Rect part;
  bool mirrored = false;
  ThreeAugmentChange change = ThreeAugmentChange::grayscale;
  double sigma = 0;  // drawn whatever the change
  double brightness = 1, contrast = 1, saturation = 1;
  std::array<int, 3> order{0, 1, 2};  // 0 brightness, 1 contrast, 2 saturation
};
/// What is drawn for a sample of an image of this size. Part and mirror are those that
/// draw_train_crop() gives for the same ranges.
ThreeAugmentDraw draw_three_augment(const ThreeAugmentOptions& options, const SampleKey& key,
                                    int width, int height);

struct ThreeAugmentScratch {
  image::Image blurred;
  aug::Scratch memory;
};
/// The change and the jitter of `draw`; the image is changed in place. Integer arithmetic: the same
/// bytes on every machine.
Status apply_three_augment(image::Image& image, const ThreeAugmentDraw& draw,
                           ThreeAugmentScratch& scratch);

/// JPEG, PNG or WebP in, side x side x 3 out. Refuses (usage) a side below 1 or above 4096, and the
/// plain filter.
Result<std::shared_ptr<const Recipe>> make_three_augment(const ThreeAugmentOptions& options);
Status check(const ThreeAugmentOptions& options);
/// For the result file; also of the recipe on a GPU.
Json describe(const ThreeAugmentOptions& options);

}  // namespace sluice::loader
