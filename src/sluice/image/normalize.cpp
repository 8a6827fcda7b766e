// sluice/image/normalize.cpp - normalisation: the definition and the plain paths.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/normalize.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::image {
namespace {

Status check(std::size_t dst_samples, ImageView<std::uint8_t> src,
             const Normalization& normalization) {
  if (src.empty()) return Error{Errc::invalid_input, "normalize: an image without pixels"};
  if (src.channels() != normalization.channels)
    return Error{Errc::invalid_input, fmt::format("normalize: {} means for an image of {} channels",
                                                  normalization.channels, src.channels())};
  if (dst_samples != src.samples())
    return Error{
        Errc::invalid_input,
        fmt::format("normalize: an image of {}x{}x{} needs memory for {} floats, not {}",
                    src.width(), src.height(), src.channels(), src.samples(), dst_samples)};
  return ok;
}

Status check(ImageSpan<float> dst, ImageView<std::uint8_t> src,
             const Normalization& normalization) {
  SLUICE_CHECK(check(src.samples(), src, normalization));
  if (!same_shape(dst, src))
    return Error{Errc::invalid_input, "normalize: output and input differ in shape"};
  return ok;
}

}  // namespace

Result<Normalization> Normalization::make(std::span<const float> mean, std::span<const float> std) {
  if (mean.empty() || mean.size() != std.size() ||
      mean.size() > static_cast<std::size_t>(kMaxChannels))
    return Error{
        Errc::usage,
        fmt::format("normalize: {} means and {} stds; as many of each, 1 to {}, are accepted",
                    mean.size(), std.size(), kMaxChannels)};
  Normalization normalization;
  normalization.channels = static_cast<int>(mean.size());
  for (std::size_t c = 0; c < mean.size(); ++c) {
    if (!std::isfinite(mean[c]) || !std::isfinite(std[c]) || std[c] <= 0)
      return Error{
          Errc::usage,
          fmt::format("normalize: mean {} and std {} of channel {}; a std above 0 is accepted",
                      mean[c], std[c], c)};
    normalization.scale[c] = static_cast<float>(1.0 / (255.0 * static_cast<double>(std[c])));
    normalization.offset[c] =
        static_cast<float>(-static_cast<double>(mean[c]) / static_cast<double>(std[c]));
  }
  return normalization;
}

Normalization Normalization::imagenet() {
  constexpr std::array kMean = {0.485F, 0.456F, 0.406F};
  constexpr std::array kStd = {0.229F, 0.224F, 0.225F};
  return *make(kMean, kStd);
}

void detail::normalize_chw_plain(float* dst, ImageView<std::uint8_t> src,
                                 const Normalization& normalization, bool mirrored) {
  const auto channels = static_cast<std::size_t>(src.channels());
  const auto width = static_cast<std::size_t>(src.width());
  const std::size_t plane = width * static_cast<std::size_t>(src.height());
  for (int y = 0; y < src.height(); ++y)
    for (std::size_t c = 0; c < channels; ++c) {
      const std::uint8_t* from = src.row(y) + c;
      float* to = dst + c * plane + static_cast<std::size_t>(y) * width;
      const float scale = normalization.scale[c];
      const float offset = normalization.offset[c];
      for (std::size_t x = 0; x < width; ++x)
        to[mirrored ? width - 1 - x : x] = static_cast<float>(from[x * channels]) * scale + offset;
    }
}

void detail::normalize_hwc_plain(ImageSpan<float> dst, ImageView<std::uint8_t> src,
                                 const Normalization& normalization) {
  const auto channels = static_cast<std::size_t>(src.channels());
  for (int y = 0; y < src.height(); ++y) {
    const std::uint8_t* from = src.row(y);
    float* to = dst.row(y);
    for (int x = 0; x < src.width(); ++x, from += channels, to += channels)
      for (std::size_t c = 0; c < channels; ++c)
        to[c] = static_cast<float>(from[c]) * normalization.scale[c] + normalization.offset[c];
  }
}

Status normalize_chw(std::span<float> dst, ImageView<std::uint8_t> src,
                     const Normalization& normalization, bool mirrored) {
  SLUICE_CHECK(check(dst.size(), src, normalization));
  detail::normalize_chw_hwy(dst.data(), src, normalization, mirrored);
  return ok;
}

Status normalize_hwc(ImageSpan<float> dst, ImageView<std::uint8_t> src,
                     const Normalization& normalization) {
  SLUICE_CHECK(check(dst, src, normalization));
  detail::normalize_hwc_hwy(dst, src, normalization);
  return ok;
}

Status normalize_chw_reference(std::span<float> dst, ImageView<std::uint8_t> src,
                               const Normalization& normalization, bool mirrored) {
  SLUICE_CHECK(check(dst.size(), src, normalization));
  detail::normalize_chw_plain(dst.data(), src, normalization, mirrored);
  return ok;
}

Status normalize_hwc_reference(ImageSpan<float> dst, ImageView<std::uint8_t> src,
                               const Normalization& normalization) {
  SLUICE_CHECK(check(dst, src, normalization));
  detail::normalize_hwc_plain(dst, src, normalization);
  return ok;
}

}  // namespace sluice::image
