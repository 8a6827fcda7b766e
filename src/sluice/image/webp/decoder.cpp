// sluice/image/webp/decoder.cpp - WebP to RGB rows with libwebp.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/webp/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>
#include <webp/decode.h>

namespace sluice::image {
namespace {

constexpr std::size_t kSteps = 8;  // parts a file is handed over in; the clock is looked at between

Error explain(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return Error{Errc::invalid_input, "WebP: truncated: the data ends early"};
    case VP8_STATUS_OUT_OF_MEMORY:
      return Error{Errc::io, "WebP: out of memory"};
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return Error{Errc::unsupported, "WebP: a feature that libwebp does not decode"};
    default:
      return Error{Errc::invalid_input, "WebP: corrupt data"};
  }
}

struct DeleteDecoder {
  void operator()(WebPIDecoder* decoder) const { WebPIDelete(decoder); }
};

/// What the RIFF header says, itself included; the data may be followed by anything.
std::uint64_t riff_bytes(Bytes bytes) {
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < 4; ++i)
    size |= std::uint64_t{bytes[4 + i]} << (8 * i);
  return size + 8;
}

}  // namespace

Result<ImageInfo> WebpDecoder::open(Bytes bytes, const DecodeOptions& options) {
  bytes_ = bytes;
  allow_truncated_ = options.allow_truncated;
  max_seconds_ = options.max_seconds;
  deadline_ = Deadline(options);
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes.data(), bytes.size(), &features);
  if (status != VP8_STATUS_OK) return explain(status);
  if (features.has_animation != 0)
    return Error{Errc::unsupported, "WebP: an animation; still images are decoded"};
  SLUICE_CHECK(check_pixels(static_cast<std::uint64_t>(features.width),
                            static_cast<std::uint64_t>(features.height), options));
  if (!options.allow_truncated && riff_bytes(bytes) > bytes.size())
    return explain(VP8_STATUS_NOT_ENOUGH_DATA);
  constexpr int kLossy = 1;
  width_ = features.width;
  height_ = features.height;
  ImageInfo info;
  info.format = Format::webp;
  info.width = width_;
  info.height = height_;
  info.channels = features.has_alpha != 0 ? 4 : 3;
  info.subsampling = features.format == kLossy ? "4:2:0" : "";
  return info;
}

// Upsampling reads a neighbour, as in a JPEG, and libwebp starts a crop at even pixels: one more
// all around, rounded down to even, makes the rest what the whole image has there.
Status WebpDecoder::read(ImageSpan<std::uint8_t> out, Rect region) {
  assert(out.width() == region.width && out.height() == region.height && out.channels() == 3);
  Rect crop;
  crop.x = std::max(region.x - 1, 0) / 2 * 2;
  crop.y = std::max(region.y - 1, 0) / 2 * 2;
  crop.width = std::min(region.x + region.width + 1, width_) - crop.x;
  crop.height = std::min(region.y + region.height + 1, height_) - crop.y;
  if (crop == region) return read_crop(out, crop);
  SLUICE_CHECK(margin_.resize_for(crop.width, crop.height, 3));
  SLUICE_CHECK(read_crop(margin_.span<std::uint8_t>(), crop));
  const auto part = margin_.view<std::uint8_t>().crop(region.x - crop.x, region.y - crop.y,
                                                      region.width, region.height);
  for (int y = 0; y < region.height; ++y)
    std::memcpy(out.row(y), part.row(y), part.row_bytes());
  return ok;
}

Status WebpDecoder::read_crop(ImageSpan<std::uint8_t> out, Rect crop) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0)
    return Error{Errc::internal, "WebP: this libwebp is not the one that Sluice was built with"};
  if (crop.width != width_ || crop.height != height_) {
    config.options.use_cropping = 1;
    config.options.crop_left = crop.x;
    config.options.crop_top = crop.y;
    config.options.crop_width = crop.width;
    config.options.crop_height = crop.height;
  }
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = out.data();
  config.output.u.RGBA.stride = static_cast<int>(out.pitch_bytes());
  config.output.u.RGBA.size =
      out.pitch_bytes() * static_cast<std::size_t>(out.height() - 1) + out.row_bytes();
  if (allow_truncated_)  // rows that never arrive are black
    for (int y = 0; y < out.height(); ++y)
      std::memset(out.row(y), 0, out.row_bytes());
  const std::unique_ptr<WebPIDecoder, DeleteDecoder> decoder(WebPIDecode(nullptr, 0, &config));
  if (decoder == nullptr) return explain(VP8_STATUS_OUT_OF_MEMORY);
  VP8StatusCode status = VP8_STATUS_SUSPENDED;
  for (std::size_t step = 1; step <= kSteps && status == VP8_STATUS_SUSPENDED; ++step) {
    status = WebPIUpdate(decoder.get(), bytes_.data(), bytes_.size() * step / kSteps);
    if (deadline_.passed())
      return Error{Errc::invalid_input,
                   fmt::format("WebP: decoding takes longer than the limit of {} s", max_seconds_)};
  }
  if (status == VP8_STATUS_OK) return ok;
  const bool damage = status == VP8_STATUS_SUSPENDED || status == VP8_STATUS_NOT_ENOUGH_DATA ||
                      status == VP8_STATUS_BITSTREAM_ERROR;
  return damage && allow_truncated_ ? Status(ok) : Status(explain(status));
}

}  // namespace sluice::image
