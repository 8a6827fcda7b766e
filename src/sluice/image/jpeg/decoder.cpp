// sluice/image/jpeg/decoder.cpp - JPEG to RGB rows with libjpeg-turbo.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/jpeg/decoder.h"

#include "sluice/image/jpeg/library.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

namespace sluice::image {
namespace {

constexpr int kMostRetries = 3;    // of a file cut inside a table
constexpr int kRowsPerCall = 16;   // one MCU row of 4:2:0; the library hands out fewer if it likes
constexpr int kRowsPerSkip = 512;  // the clock is not looked at within one
// The library widens a crop to whole MCUs on the left: 4 blocks at most.
constexpr int kMostAlignment = 4 * DCTSIZE;
// Asked for at least: more than one column of chroma, or the library falls back to plain
// upsampling.
constexpr int kLeastColumns = 8;

/// "4:2:0" from the sampling factors of three components; empty for anything unusual.
const char* subsampling_name(const jpeg_decompress_struct& jpeg) {
  if (jpeg.num_components != 3) return "";
  const jpeg_component_info* c = jpeg.comp_info;
  if (c[1].h_samp_factor != c[2].h_samp_factor || c[1].v_samp_factor != c[2].v_samp_factor)
    return "";
  if (c[0].h_samp_factor % c[1].h_samp_factor != 0 || c[0].v_samp_factor % c[1].v_samp_factor != 0)
    return "";
  const int h = c[0].h_samp_factor / c[1].h_samp_factor;
  const int v = c[0].v_samp_factor / c[1].v_samp_factor;
  if (h == 1 && v == 1) return "4:4:4";
  if (h == 2 && v == 1) return "4:2:2";
  if (h == 1 && v == 2) return "4:4:0";
  if (h == 2 && v == 2) return "4:2:0";
  if (h == 4 && v == 1) return "4:1:1";
  return "";
}

/// The bytes before the last marker that is not part of a scan's data.
Bytes before_last_marker(Bytes bytes) {
  for (std::size_t at = bytes.size(); at-- > 4;) {
    const std::uint8_t code = at + 1 < bytes.size() ? bytes[at + 1] : 0;
    if (bytes[at] == 0xFF && code >= 0xC0 && (code < 0xD0 || code > 0xD7) && code != 0xFF)
      return bytes.first(at);
  }
  return {};
}

/// a * b / 255, rounded to nearest, exact for all pairs of bytes.
std::uint8_t multiply_255(unsigned a, unsigned b) {
  const unsigned product = a * b + 128;
  return static_cast<std::uint8_t>((product + (product >> 8)) >> 8);
}

/// Adobe writes ink inverted (255 is no ink); others write ink as it is.
void cmyk_to_rgb(std::uint8_t* rgb, const std::uint8_t* cmyk, unsigned width, bool inverted) {
  const unsigned flip = inverted ? 0 : 255;
  for (unsigned x = 0; x < width; ++x, rgb += 3, cmyk += 4) {
    const unsigned light = cmyk[3] ^ flip;
    for (int c = 0; c < 3; ++c)
      rgb[c] = multiply_255(cmyk[c] ^ flip, light);
  }
}

}  // namespace

struct JpegDecoder::Impl : JpegLibrary {
  int retries = 0;
  std::vector<std::uint8_t> strip;  // rows of the library where they are not rows of the caller

  void skip_rows(int count);
  void read_rows(ImageSpan<std::uint8_t> out);
  void read_part(ImageSpan<std::uint8_t> out, Rect region);
};

JpegDecoder::JpegDecoder() : impl_(std::make_unique<Impl>()) {}
JpegDecoder::~JpegDecoder() = default;
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder& JpegDecoder::operator=(JpegDecoder&&) noexcept = default;

Result<ImageInfo> JpegDecoder::open(Bytes bytes, const DecodeOptions& options) {
  Impl& impl = *impl_;
  // A fresh struct per file: a kept one would lend the tables of the last file to one that lacks
  // its own.
  impl.close();
  impl.bytes = bytes;
  impl.options = options;
  impl.retries = 0;
  impl.set_up();
  const bool parsed = impl.guarded([&impl] {
    jpeg_create_decompress(&impl.jpeg);
    impl.created = true;
    impl.jpeg.src = &impl.source.base;
    impl.jpeg.progress = &impl.monitor.base;
    jpeg_read_header(&impl.jpeg, TRUE);
  });
  const jpeg_decompress_struct& jpeg = impl.jpeg;
  if (!parsed) {
    if (jpeg.err->msg_code == JERR_BAD_PRECISION)
      return Error{Errc::unsupported, fmt::format("JPEG: {} bits per sample; only 8 are decoded",
                                                  jpeg.data_precision)};
    return impl.explain();
  }
  SLUICE_CHECK(check_pixels(jpeg.image_width, jpeg.image_height, options));
  // At least one bit per block of 64 samples, and sampling factors thin a component by 4 x 4 at
  // most.
  constexpr std::uint64_t kPixelsPerByte = 8 * 64 * 16;
  SLUICE_CHECK(check_plausible(std::uint64_t{jpeg.image_width} * jpeg.image_height, bytes.size(),
                               kPixelsPerByte, options));
  if (jpeg.arith_code != FALSE)
    return Error{Errc::unsupported, "JPEG: arithmetic coding is not decoded; Huffman coding is"};
  if (jpeg.num_components != 1 && jpeg.num_components != 3 && jpeg.num_components != 4)
    return Error{Errc::unsupported,
                 fmt::format("JPEG: {} components; 1 (grey), 3 (colour) and 4 (CMYK) are decoded",
                             jpeg.num_components)};
  ImageInfo info;
  info.format = Format::jpeg;
  info.width = static_cast<int>(jpeg.image_width);
  info.height = static_cast<int>(jpeg.image_height);
  info.channels = jpeg.num_components;
  info.colour = jpeg.num_components != 1;
  info.bit_depth = jpeg.data_precision;
  info.progressive = jpeg.progressive_mode != FALSE;
  info.subsampling = subsampling_name(jpeg);
  return info;
}

// Rows of the current crop, straight into the caller's.
void JpegDecoder::Impl::read_rows(ImageSpan<std::uint8_t> out) {
  for (int y = 0; y < out.height();) {
    std::array<JSAMPROW, kRowsPerCall>
        rows;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
    const int count = std::min(kRowsPerCall, out.height() - y);
    for (int i = 0; i < count; ++i)
      rows[static_cast<std::size_t>(i)] = out.row(y + i);
    y += static_cast<int>(jpeg_read_scanlines(&jpeg, rows.data(), static_cast<JDIMENSION>(count)));
  }
}

void JpegDecoder::Impl::skip_rows(int count) {
  while (count > 0) {
    on_progress(reinterpret_cast<j_common_ptr>(&jpeg));
    count -= static_cast<int>(
        jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(std::min(count, kRowsPerSkip))));
  }
}

// Chroma upsampling reads a neighbour: one column more on either side, which is then left out,
// makes the rest what the whole image has there. Rows need no such care, jpeg_skip_scanlines keeps
// the neighbours it needs.
void JpegDecoder::Impl::read_part(ImageSpan<std::uint8_t> out, Rect region) {
  const auto image_width = static_cast<int>(jpeg.output_width);
  int left = std::max(region.x - 1, 0);
  const int right =
      std::min(std::max(region.x + region.width + 1, left + kLeastColumns), image_width);
  left = std::max(std::min(left, right - kLeastColumns), 0);
  auto first = static_cast<JDIMENSION>(left);
  auto columns = static_cast<JDIMENSION>(right - left);
  jpeg_crop_scanline(&jpeg, &first, &columns);
  const bool cmyk = jpeg.num_components == 4;
  const std::size_t pixel_bytes = cmyk ? 4 : 3;
  const std::size_t pitch = columns * pixel_bytes;
  assert(pitch * kRowsPerCall <= strip.size());
  const std::size_t lead = (static_cast<std::size_t>(region.x) - first) * pixel_bytes;
  std::array<JSAMPROW, kRowsPerCall> rows{};
  for (std::size_t i = 0; i < kRowsPerCall; ++i)
    rows[i] = strip.data() + i * pitch;
  skip_rows(region.y);
  for (int y = 0; y < region.height;) {
    const auto wanted = static_cast<JDIMENSION>(std::min(kRowsPerCall, region.height - y));
    const JDIMENSION got = jpeg_read_scanlines(&jpeg, rows.data(), wanted);
    for (std::size_t i = 0; i < got; ++i, ++y) {
      if (cmyk)
        cmyk_to_rgb(out.row(y), rows[i] + lead, static_cast<unsigned>(region.width),
                    jpeg.saw_Adobe_marker != FALSE);
      else
        std::memcpy(out.row(y), rows[i] + lead, out.row_bytes());
    }
  }
}

Status JpegDecoder::read(ImageSpan<std::uint8_t> out, Rect region, DctScale scale) {
  Impl& impl = *impl_;
  jpeg_decompress_struct& jpeg = impl.jpeg;
  assert(out.width() == region.width && out.height() == region.height && out.channels() == 3);
  const int width = scaled_size(static_cast<int>(jpeg.image_width), scale);
  const int height = scaled_size(static_cast<int>(jpeg.image_height), scale);
  assert(region.x >= 0 && region.width <= width - region.x);
  assert(region.y >= 0 && region.height <= height - region.y);
  const bool cmyk = jpeg.num_components == 4;
  const bool straight = !cmyk && region.x == 0 && region.width == width;
  if (!straight) {
    const int most = std::min(region.width + kLeastColumns + 2 + kMostAlignment, width);
    const std::size_t bytes = static_cast<std::size_t>(most) * kRowsPerCall * (cmyk ? 4U : 3U);
    if (impl.strip.size() < bytes) impl.strip.resize(bytes);
  }
  const bool decoded = impl.guarded([&impl, &jpeg, out, region, scale, cmyk, straight, height] {
    jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    jpeg.dct_method = JDCT_ISLOW;
    jpeg.scale_num = static_cast<unsigned>(scale);
    jpeg.scale_denom = DCTSIZE;
    jpeg_start_decompress(&jpeg);
    if (straight) {
      impl.skip_rows(region.y);
      impl.read_rows(out);
    } else {
      impl.read_part(out, region);
    }
    if (region.y + region.height == height) jpeg_finish_decompress(&jpeg);
  });
  const Status status = decoded ? Status(ok) : Status(impl.explain());
  const bool cut = !decoded && impl.source.ran_dry && impl.retries < kMostRetries;
  impl.close();
  return cut ? read_shorter(out, region, scale, status) : status;
}

// A progressive file cut inside a table: the scans before it are whole, so try again without the
// part. Only with allow_truncated; otherwise running dry is the error itself.
Status JpegDecoder::read_shorter(ImageSpan<std::uint8_t> out, Rect region, DctScale scale,
                                 const Status& failed) {
  Impl& impl = *impl_;
  const Bytes shorter = before_last_marker(impl.bytes);
  const Deadline deadline = impl.monitor.deadline;
  const int retries = impl.retries + 1;
  if (shorter.empty() || !open(shorter, DecodeOptions(impl.options))) return failed;
  impl.monitor.deadline = deadline;
  impl.retries = retries;
  return read(out, region, scale);
}

}  // namespace sluice::image
