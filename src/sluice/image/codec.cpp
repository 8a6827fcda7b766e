// sluice/image/codec.cpp - encoded bytes to pixels: what they are, limits, orientation.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"

#include "sluice/image/exif.h"
#include "sluice/image/jpeg_decoder.h"
#include "sluice/image/limits.h"
#include "sluice/image/png_decoder.h"

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
  if (has_at(bytes, 0, "RIFF") && has_at(bytes, 8, "WEBP")) return "it is a WebP";
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
  return format == Format::jpeg ? "jpeg" : "png";
}

Result<Format> sniff(Bytes bytes) {
  if (has_at(bytes, 0, "\xFF\xD8\xFF")) return Format::jpeg;
  if (has_at(bytes, 0, "\x89PNG\r\n\x1A\n")) return Format::png;
  return Error{Errc::invalid_input,
               fmt::format("not a JPEG or PNG, which are accepted: {}", describe(bytes))};
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

struct Decoder::State {
  JpegDecoder jpeg;
  PngDecoder png;
  Image stored;  // before orientation

  Result<ImageInfo> open(Bytes bytes, const DecodeOptions& options) {
    SLUICE_TRY(const Format format, sniff(bytes));
    SLUICE_TRY(ImageInfo info,
               format == Format::jpeg ? jpeg.open(bytes, options) : png.open(bytes, options));
    info.orientation = format == Format::jpeg ? jpeg_orientation(bytes) : png_orientation(bytes);
    return info;
  }

  Status read(ImageSpan<std::uint8_t> out, const ImageInfo& info, const DecodeOptions& options) {
    if (!options.exif || info.orientation == 1) return read_stored(out, info);
    SLUICE_CHECK(stored.resize_for(info.width, info.height, 3));
    SLUICE_CHECK(read_stored(stored.span<std::uint8_t>(), info));
    orient(out, stored.view<std::uint8_t>(), info.orientation);
    return ok;
  }

  Status read_stored(ImageSpan<std::uint8_t> out, const ImageInfo& info) {
    return info.format == Format::jpeg ? jpeg.read(out) : png.read(out);
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
  return state_->read(out.span<std::uint8_t>(), info, options);
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
  return state_->read(out, info, options);
}

Result<ImageInfo> Decoder::read_info(Bytes bytes, const DecodeOptions& options) {
  return state_->open(bytes, options);
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

Result<ImageInfo> read_info(Bytes bytes, const DecodeOptions& options) {
  return Decoder().read_info(bytes, options);
}

}  // namespace sluice::image
