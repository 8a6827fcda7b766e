// sluice/loader/recipe/place.h - pixels into their place in a batch: type, layout, normalisation,
// mirror.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"
#include "sluice/image/normalize.h"
#include "sluice/loader/recipe/output.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::loader {

/// Memory of one worker for conversions.
struct PlaceScratch {
  image::Image mirrored;
  std::vector<float> band;
  std::vector<std::uint16_t> halves;  // the f16 of every level, by channel
};

/// `pixels` have the size and channels of `spec`; `out` is spec.bytes() long. All but u8 are
/// normalised (bf16 and f16 are the f32 value rounded to nearest, halves to even).
Status place(std::span<std::byte> out, const OutputSpec& spec,
             image::ImageView<std::uint8_t> pixels, const image::Normalization& normalization,
             bool mirrored, PlaceScratch& scratch);
/// f32 as it is, into f32, bf16 or f16.
Status place(std::span<std::byte> out, const OutputSpec& spec, image::ImageView<float> pixels);

/// The nearest bfloat16, halves to even; NaN stays NaN.
std::uint16_t to_bf16(float value);
/// The nearest IEEE binary16 likewise; what is too large becomes infinite.
std::uint16_t to_f16(float value);

/// What place() makes of every level of every channel: f32, levels[channel * 256 + level], bit by
/// bit.
std::vector<float> normalized_levels(const image::Normalization& normalization);

}  // namespace sluice::loader
