// sluice/loader/photo_steps.h - what recipes for photographs share: decoder, resizers, buffers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"
#include "sluice/image/image.h"
#include "sluice/image/resize.h"
#include "sluice/image/resize_antialias.h"
#include "sluice/loader/place.h"
#include "sluice/loader/recipe.h"
#include "sluice/loader/recipe_train_crop.h"

#include <cstddef>
#include <span>

namespace sluice::loader {

image::Bytes as_image_bytes(std::span<const std::byte> encoded);

/// Decoding that gives up soon when `stop` is set. One at a time per thread.
image::DecodeOptions decode_options(const std::atomic<bool>* stop);

Status check_side(const char* name, int value);  // 1 to 4096

struct PhotoScratch : RecipeScratch {
  image::Decoder decoder;
  image::BilinearResizer plain;
  image::AntialiasResizer antialias;
  image::Image decoded, resized;
  PlaceScratch place;

  /// `decoded` resized to `spec` and placed; tells the clock when either begins.
  Status resize_and_place(std::span<std::byte> out, const OutputSpec& spec, Filter filter,
                          const image::Normalization& normalization, bool mirrored,
                          StageClock& clock);

 private:
  Status resize(image::ImageSpan<std::uint8_t> dst, Filter filter);
};

}  // namespace sluice::loader
