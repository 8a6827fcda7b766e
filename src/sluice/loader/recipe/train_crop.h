// sluice/loader/recipe/train_crop.h - what training asks of a photograph: a random part, resized,
// maybe mirrored, normalised. Only that part is decoded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/geometry/resized_crop.h"
#include "sluice/image/codec.h"
#include "sluice/image/normalize.h"
#include "sluice/loader/recipe/erasing.h"
#include "sluice/loader/recipe/recipe.h"

#include <memory>

namespace sluice::loader {

/// plain: bilinear as OpenCV's INTER_LINEAR. antialias: triangle filter, widened when shrinking, as
/// Pillow, torchvision (antialias=True) and DALI. bicubic: Keys' cubic, widened likewise.
enum class Filter : std::uint8_t { plain, antialias, bicubic };
const char* to_string(Filter filter);

enum class CropMode : std::uint8_t {
  random,  // RandomResizedCrop and a flip of probability 0.5
  centre,  // the largest central square, never mirrored: for comparing with other libraries
};

struct TrainCropOptions {
  int side = 224;
  Filter filter = Filter::plain;
  CropMode crop = CropMode::random;
  bool dct_scaled = false;  // decode at the smallest sufficient scale: a labelled mode, not exact
  aug::ResizedCropRanges ranges{};
  ErasingOptions erasing{};  // of random crops
  /// Not for u8.
  image::Normalization normalization = image::Normalization::imagenet();
  BatchType type = BatchType::f32;
  Layout layout = Layout::chw;
};

struct TrainCropDraw {
  image::Rect part;
  bool mirrored = false;
};
/// What is drawn for a sample of an image of this size.
TrainCropDraw draw_train_crop(const TrainCropOptions& options, const SampleKey& key, int width,
                              int height);

/// JPEG, PNG or WebP in, side x side x 3 out. Refuses (usage) a side below 1 or above 4096.
Result<std::shared_ptr<const Recipe>> make_train_crop(const TrainCropOptions& options);

}  // namespace sluice::loader
