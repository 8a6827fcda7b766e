// sluice/image/webp/encoder.cpp - u8 pixels to WebP with libwebp.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"

#include <fmt/format.h>

#include <memory>
#include <webp/encode.h>

namespace sluice::image {
namespace {

struct Free {
  void operator()(std::uint8_t* memory) const { WebPFree(memory); }
};

}  // namespace

Status encode_webp(std::vector<std::uint8_t>& out, ImageView<std::uint8_t> image,
                   const WebpOptions& options) {
  if (image.channels() != 3)
    return Error{Errc::invalid_input,
                 fmt::format("WebP of {} channels: 3 are accepted", image.channels())};
  if (image.width() > WEBP_MAX_DIMENSION || image.height() > WEBP_MAX_DIMENSION)
    return Error{Errc::invalid_input,
                 fmt::format("WebP of {}x{}: sides of 1 to {} are accepted", image.width(),
                             image.height(), WEBP_MAX_DIMENSION)};
  if (options.quality < 0 || options.quality > 100)
    return Error{Errc::usage,
                 fmt::format("WebP quality {}: 0 to 100 is accepted", options.quality)};
  const auto stride = static_cast<int>(image.pitch_bytes());
  std::uint8_t* memory = nullptr;
  const std::size_t size =
      options.lossless
          ? WebPEncodeLosslessRGB(image.data(), image.width(), image.height(), stride, &memory)
          : WebPEncodeRGB(image.data(), image.width(), image.height(), stride,
                          static_cast<float>(options.quality), &memory);
  const std::unique_ptr<std::uint8_t, Free> owner(memory);
  if (size == 0) return Error{Errc::internal, "WebP: libwebp could not encode the image"};
  out.assign(memory, memory + size);
  return ok;
}

}  // namespace sluice::image
