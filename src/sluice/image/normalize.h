// sluice/image/normalize.h - u8 pixels to the floats a model takes: (x / 255 - mean) / std per
// channel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"

#include <array>
#include <cstdint>
#include <span>

namespace sluice::image {

/// y = x * scale[c] + offset[c], with scale = 1 / (255 std) and offset = -mean / std.
struct Normalization {
  int channels = 0;
  std::array<float, kMaxChannels> scale{};
  std::array<float, kMaxChannels> offset{};

  /// One mean and one std per channel; std must be above 0, both finite.
  static Result<Normalization> make(std::span<const float> mean, std::span<const float> std);
  /// The usual ImageNet values for RGB.
  static Normalization imagenet();
};

/// Planes one after another (CHW), rows tight: `dst` must hold exactly src.samples() floats. The
/// reference rounds the product and the sum; the fast path may fuse them: at most 1e-6 * (255
/// |scale| + |offset|) apart. `mirrored`: left and right exchanged on the way, at no cost.
Status normalize_chw(std::span<float> dst, ImageView<std::uint8_t> src,
                     const Normalization& normalization, bool mirrored = false);
Status normalize_chw_reference(std::span<float> dst, ImageView<std::uint8_t> src,
                               const Normalization& normalization, bool mirrored = false);

/// Interleaved (HWC), same shape as `src`.
Status normalize_hwc(ImageSpan<float> dst, ImageView<std::uint8_t> src,
                     const Normalization& normalization);
Status normalize_hwc_reference(ImageSpan<float> dst, ImageView<std::uint8_t> src,
                               const Normalization& normalization);

namespace detail {
// Preconditions checked by the functions above.
void normalize_chw_hwy(float* dst, ImageView<std::uint8_t> src, const Normalization& normalization,
                       bool mirrored);
void normalize_hwc_hwy(ImageSpan<float> dst, ImageView<std::uint8_t> src,
                       const Normalization& normalization);
void normalize_chw_plain(float* dst, ImageView<std::uint8_t> src,
                         const Normalization& normalization, bool mirrored);
void normalize_hwc_plain(ImageSpan<float> dst, ImageView<std::uint8_t> src,
                         const Normalization& normalization);
}  // namespace detail

}  // namespace sluice::image
