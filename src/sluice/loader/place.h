// sluice/loader/place.h - pixels into their place in a batch: type, layout, normalisation, mirror.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"
#include "sluice/image/normalize.h"
#include "sluice/loader/output.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::loader {

/// Memory of one worker for conversions.
struct PlaceScratch {
  image::Image mirrored;
  std::vector<float> band;
};

/// `pixels` have the size and channels of `spec`; `out` is spec.bytes() long. f32 and bf16 are
/// normalised (bf16 is the f32 value rounded to nearest, halves to even), u8 is not.
Status place(std::span<std::byte> out, const OutputSpec& spec,
             image::ImageView<std::uint8_t> pixels, const image::Normalization& normalization,
             bool mirrored, PlaceScratch& scratch);
/// f32 as it is, into f32 or bf16.
Status place(std::span<std::byte> out, const OutputSpec& spec, image::ImageView<float> pixels);

/// The nearest bfloat16, halves to even; NaN stays NaN.
std::uint16_t to_bf16(float value);

}  // namespace sluice::loader
