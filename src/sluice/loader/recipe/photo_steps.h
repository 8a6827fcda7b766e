// sluice/loader/recipe/photo_steps.h - what recipes for photographs share: decoder, resizers,
// buffers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"
#include "sluice/image/image.h"
#include "sluice/image/resize/antialias.h"
#include "sluice/image/resize/bicubic.h"
#include "sluice/image/resize/resize.h"
#include "sluice/loader/recipe/place.h"
#include "sluice/loader/recipe/recipe.h"
#include "sluice/loader/recipe/train_crop.h"

#include <cstddef>
#include <span>

namespace sluice::loader {

image::Bytes as_image_bytes(std::span<const std::byte> encoded);

Status check_side(const char* name, int value);  // 1 to 4096

struct PhotoScratch : RecipeScratch {
  image::Decoder decoder;
  image::BilinearResizer plain;
  image::AntialiasResizer antialias;
  image::BicubicResizer bicubic;
  image::Image decoded, resized;
  PlaceScratch place;

  Status resize(image::ImageSpan<std::uint8_t> dst, Filter filter);  // of `decoded`
  /// `decoded` resized to `spec` and placed; tells the clock when either begins.
  Status resize_and_place(std::span<std::byte> out, const OutputSpec& spec, Filter filter,
                          const image::Normalization& normalization, bool mirrored,
                          StageClock& clock);
};

}  // namespace sluice::loader
