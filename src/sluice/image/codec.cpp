// sluice/image/codec.cpp - encoded bytes to pixels: what they are, limits, orientation.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"

#include "sluice/image/jpeg/decoder.h"
#include "sluice/image/jpeg/exif.h"
#include "sluice/image/limits.h"
#include "sluice/image/png/decoder.h"
#include "sluice/image/webp/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace sluice::image {
namespace {

bool has_at(Bytes bytes, std::size_t offset, std::string_view magic) {
  return bytes.size() >= offset + magic.size() &&
         std::memcmp(bytes.data() + offset, magic.data(), magic.size()) == 0;
}

/// What a file is that we do not read, or how it begins.
std::string describe(Bytes bytes) {
  if (bytes.empty()) return "it is empty";
  if (has_at(bytes, 0, "GIF8")) return "it is a GIF";
  if (has_at(bytes, 0, "BM")) return "it looks like a BMP";
  if (has_at(bytes, 0, std::string_view("II*\0", 4)) ||
      has_at(bytes, 0, std::string_view("MM\0*", 4)))
    return "it is a TIFF";
  std::string text = "it starts with";
  for (const std::uint8_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 4)))
    text += fmt::format(" {:02x}", byte);
  return text;
}

}  // namespace

const char* to_string(Format format) {
  switch (format) {
    case Format::jpeg:
      return "jpeg";
    case Format::png:
      return "png";
    case Format::webp:
      return "webp";
  }
  return "unknown";
}

Result<Format> sniff(Bytes bytes) {
  if (has_at(bytes, 0, "\xFF\xD8\xFF")) return Format::jpeg;
  if (has_at(bytes, 0, "\x89PNG\r\n\x1A\n")) return Format::png;
  if (has_at(bytes, 0, "RIFF") && has_at(bytes, 8, "WEBP")) return Format::webp;
  return Error{Errc::invalid_input,
               fmt::format("not a JPEG, PNG or WebP, which are accepted: {}", describe(bytes))};
}

Status check_pixels(std::uint64_t width, std::uint64_t height, const DecodeOptions& options) {
  constexpr auto kSide = static_cast<std::uint64_t>(kMaxSide);
  if (width == 0 || height == 0 || width > kSide || height > kSide ||
      width * height > options.max_pixels)
    return Error{Errc::invalid_input,
                 fmt::format("an image of {}x{} pixels is refused: at most {} pixels are accepted",
                             width, height, options.max_pixels)};
  return ok;
}

Status check_plausible(std::uint64_t units, std::uint64_t bytes, std::uint64_t units_per_byte,
                       const DecodeOptions& options) {
  if (options.allow_truncated || units / units_per_byte <= bytes) return ok;
  return Error{
      Errc::invalid_input,
      fmt::format("truncated: {} bytes are too few for the size the header states", bytes)};
}

const char* to_string(DctScale scale) {
  switch (scale) {
    case DctScale::eighth:
      return "1/8";
    case DctScale::quarter:
      return "2/8";
    case DctScale::half:
      return "4/8";
    case DctScale::full:
      return "8/8";
  }
  return "unknown";
}

DctScale smallest_scale(int width, int height, int wanted_width, int wanted_height) {
  for (const DctScale scale : {DctScale::eighth, DctScale::quarter, DctScale::half}) {
    const auto eighths = static_cast<std::int64_t>(scale);
    if (width * eighths >= std::int64_t{wanted_width} * 8 &&
        height * eighths >= std::int64_t{wanted_height} * 8)
      return scale;
  }
  return DctScale::full;
}

struct Decoder::State {
  JpegDecoder jpeg;
  PngDecoder png;
  WebpDecoder webp;
  Image stored;  // before orientation
  ImageInfo info;
  bool exif = false;
  bool is_open = false;  // open() succeeded and nothing was read since

  Result<ImageInfo> open_as(Format format, Bytes bytes, const DecodeOptions& options) {
    const bool is_jpeg = format == Format::jpeg;
    const bool is_png = format == Format::png;
    SLUICE_TRY(ImageInfo found, is_jpeg  ? jpeg.open(bytes, options)
                                : is_png ? png.open(bytes, options)
                                         : webp.open(bytes, options));
    found.orientation = is_jpeg  ? jpeg_orientation(bytes)
                        : is_png ? png_orientation(bytes)
                                 : webp_orientation(bytes);
    return found;
  }

  Result<ImageInfo> open(Bytes bytes, const DecodeOptions& options) {
    is_open = false;
    SLUICE_TRY(const Format format, sniff(bytes));
    SLUICE_TRY(info, open_as(format, bytes, options));
    exif = options.exif;
    is_open = true;
    return info;
  }

  Status read(ImageSpan<std::uint8_t> out) {
    if (!exif || info.orientation == 1) return read_stored(out);
    SLUICE_CHECK(stored.resize_for(info.width, info.height, 3));
    SLUICE_CHECK(read_stored(stored.span<std::uint8_t>()));
    orient(out, stored.view<std::uint8_t>(), info.orientation);
    return ok;
  }

  Status read_stored(ImageSpan<std::uint8_t> out) {
    return read_part(out, {0, 0, info.width, info.height});
  }

  Status read_part(ImageSpan<std::uint8_t> out, Rect region) {
    is_open = false;
    if (info.format == Format::jpeg) return jpeg.read(out, region, DctScale::full);
    return info.format == Format::png ? png.read(out, region) : webp.read(out, region);
  }

  [[nodiscard]] Status check_region(Rect region) const {
    if (!is_open)
      return Error{Errc::usage, "no image is open: each read of a part follows an open()"};
    if (exif)
      return Error{Errc::usage,
                   "a part of an image is read as stored; `exif` must be off, but it is on"};
    if (region.x < 0 || region.y < 0 || region.width < 1 || region.height < 1 ||
        region.width > info.width - region.x || region.height > info.height - region.y)
      return Error{
          Errc::invalid_input,
          fmt::format("a region of {}x{} at ({}, {}) does not lie in an image of {}x{}",
                      region.width, region.height, region.x, region.y, info.width, info.height)};
    return ok;
  }

  Status read_region(Image& out, Rect region) {
    SLUICE_CHECK(check_region(region));
    SLUICE_CHECK(out.resize_for(region.width, region.height, 3));
    return read_part(out.span<std::uint8_t>(), region);
  }

  Result<ScaledRegion> read_scaled(Image& out, Rect region, int wanted_width, int wanted_height) {
    SLUICE_CHECK(check_region(region));
    if (wanted_width < 1 || wanted_height < 1)
      return Error{Errc::usage, fmt::format("a wanted size of {}x{}: at least 1x1 is accepted",
                                            wanted_width, wanted_height)};
    ScaledRegion result;
    if (info.format == Format::jpeg)
      result.scale = smallest_scale(region.width, region.height, wanted_width, wanted_height);
    const int eighths = static_cast<int>(result.scale);
    const int right = scaled_size(region.x + region.width, result.scale);
    const int bottom = scaled_size(region.y + region.height, result.scale);
    result.decoded.x = region.x * eighths / 8;
    result.decoded.y = region.y * eighths / 8;
    result.decoded.width = right - result.decoded.x;
    result.decoded.height = bottom - result.decoded.y;
    result.x = region.x * eighths / 8.0 - result.decoded.x;
    result.y = region.y * eighths / 8.0 - result.decoded.y;
    result.width = region.width * eighths / 8.0;
    result.height = region.height * eighths / 8.0;
    if (result.scale == DctScale::full) {
      SLUICE_CHECK(read_region(out, region));
      return result;
    }
    SLUICE_CHECK(out.resize_for(result.decoded.width, result.decoded.height, 3));
    is_open = false;
    SLUICE_CHECK(jpeg.read(out.span<std::uint8_t>(), result.decoded, result.scale));
    return result;
  }
};

Decoder::Decoder() : state_(std::make_unique<State>()) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

Status Decoder::decode(Image& out, Bytes bytes, const DecodeOptions& options) {
  SLUICE_TRY(const ImageInfo info, state_->open(bytes, options));
  const bool swaps = options.exif && orientation_swaps(info.orientation);
  SLUICE_CHECK(
      out.resize_for(swaps ? info.height : info.width, swaps ? info.width : info.height, 3));
  return state_->read(out.span<std::uint8_t>());
}

Status Decoder::decode_into(ImageSpan<std::uint8_t> out, Bytes bytes,
                            const DecodeOptions& options) {
  SLUICE_TRY(const ImageInfo info, state_->open(bytes, options));
  const bool swaps = options.exif && orientation_swaps(info.orientation);
  const int width = swaps ? info.height : info.width;
  const int height = swaps ? info.width : info.height;
  if (out.width() != width || out.height() != height || out.channels() != 3)
    return Error{Errc::invalid_input,
                 fmt::format("an image of {}x{}x3 does not fit memory for {}x{}x{}", width, height,
                             out.width(), out.height(), out.channels())};
  return state_->read(out);
}

Result<ImageInfo> Decoder::read_info(Bytes bytes, const DecodeOptions& options) {
  return state_->open(bytes, options);
}

Result<ImageInfo> Decoder::open(Bytes bytes, const DecodeOptions& options) {
  return state_->open(bytes, options);
}

Status Decoder::read_region(Image& out, Rect region) {
  return state_->read_region(out, region);
}

Result<ScaledRegion> Decoder::read_scaled(Image& out, Rect region, int wanted_width,
                                          int wanted_height) {
  return state_->read_scaled(out, region, wanted_width, wanted_height);
}

Status Decoder::decode_region(Image& out, Bytes bytes, Rect region, const DecodeOptions& options) {
  SLUICE_CHECK(state_->open(bytes, options));
  return state_->read_region(out, region);
}

Status decode(Image& out, Bytes bytes, const DecodeOptions& options) {
  return Decoder().decode(out, bytes, options);
}

namespace {
Status decode_as(Image& out, Bytes bytes, const DecodeOptions& options, Format wanted) {
  SLUICE_TRY(const Format format, sniff(bytes));
  if (format != wanted)
    return Error{Errc::invalid_input,
                 fmt::format("a {} where a {} is wanted", to_string(format), to_string(wanted))};
  return decode(out, bytes, options);
}
}  // namespace

Status decode_jpeg(Image& out, Bytes bytes, const DecodeOptions& options) {
  return decode_as(out, bytes, options, Format::jpeg);
}

Status decode_png(Image& out, Bytes bytes, const DecodeOptions& options) {
  return decode_as(out, bytes, options, Format::png);
}

Status decode_webp(Image& out, Bytes bytes, const DecodeOptions& options) {
  return decode_as(out, bytes, options, Format::webp);
}

Result<ImageInfo> read_info(Bytes bytes, const DecodeOptions& options) {
  return Decoder().read_info(bytes, options);
}

}  // namespace sluice::image
