// sluice/image/jpeg_decoder.cpp - JPEG to RGB rows with libjpeg-turbo.
// SPDX-License-Identifier: Apache-2.0
//
// libjpeg reports errors by longjmp. Everything that may jump runs inside guarded(), in lambdas
// that own nothing with a destructor; memory they need is allocated before.
#include "sluice/image/jpeg_decoder.h"

#include "sluice/image/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

// After <cstdio>: the header needs size_t and FILE.
#include <jpeglib.h>
// After <jpeglib.h>.
#include <jerror.h>

namespace sluice::image {
namespace {

constexpr std::array<JOCTET, 2> kEndOfImage = {0xFF, JPEG_EOI};
constexpr int kMostRetries = 3;   // of a file cut inside a table
constexpr int kRowsPerCall = 16;  // one MCU row of 4:2:0; the library hands out fewer if it likes

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

struct JpegDecoder::Impl {
  // The library hands back pointers to its own parts; they are the first member of ours, so a cast
  // finds the rest.
  struct ErrorManager {
    jpeg_error_mgr base;
    std::jmp_buf jump;
    bool warnings_are_errors;
    std::array<char, JMSG_LENGTH_MAX> text;
  };
  struct Source {
    jpeg_source_mgr base;
    bool allow_truncated;
    bool ran_dry;
  };
  struct Monitor {
    jpeg_progress_mgr base;
    Deadline deadline;
    int max_scans;
    double max_seconds;
  };

  jpeg_decompress_struct jpeg{};
  ErrorManager error{};
  Source source{};
  Monitor monitor{};
  bool created = false;
  Bytes bytes;
  DecodeOptions options;
  int retries = 0;
  std::vector<std::uint8_t> cmyk_row;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { close(); }

  void close() {
    if (created) jpeg_destroy_decompress(&jpeg);
    created = false;
  }

  /// Runs `body`; false when the library gave up, with the reason in error.text.
  template <class Body>
  bool guarded(Body body) {
    static_assert(std::is_trivially_destructible_v<Body>);
    if (setjmp(error.jump) != 0) return false;  // NOLINT: the only way libjpeg offers
    body();
    return true;
  }

  [[noreturn]] static void fail(j_common_ptr common, const char* text) {
    auto* manager = reinterpret_cast<ErrorManager*>(common->err);
    std::snprintf(manager->text.data(), manager->text.size(), "%s", text);
    std::longjmp(manager->jump, 1);
  }

  static void on_error(j_common_ptr common) {
    auto* manager = reinterpret_cast<ErrorManager*>(common->err);
    common->err->format_message(common, manager->text.data());
    std::longjmp(manager->jump, 1);
  }

  static void on_message(j_common_ptr common, int level) {
    if (level >= 0) return;  // trace
    ++common->err->num_warnings;
    auto* manager = reinterpret_cast<ErrorManager*>(common->err);
    // A JFIF version from the future changes no pixel; every other warning may.
    if (manager->warnings_are_errors && common->err->msg_code != JWRN_JFIF_MAJOR) on_error(common);
  }

  static void on_output(j_common_ptr /*common*/) {}  // never stderr

  static void on_source_start(j_decompress_ptr /*jpeg*/) {}
  static void on_source_end(j_decompress_ptr /*jpeg*/) {}

  static boolean on_source_empty(j_decompress_ptr decompress) {
    auto* source = reinterpret_cast<Source*>(decompress->src);
    if (!source->allow_truncated)
      fail(reinterpret_cast<j_common_ptr>(decompress), "truncated: the data ends early");
    source->ran_dry = true;
    source->base.next_input_byte = kEndOfImage.data();
    source->base.bytes_in_buffer = kEndOfImage.size();
    return TRUE;
  }

  static void on_source_skip(j_decompress_ptr decompress, long count) {
    if (count <= 0) return;
    jpeg_source_mgr* source = decompress->src;
    const auto wanted = static_cast<std::size_t>(count);
    if (wanted > source->bytes_in_buffer) {
      on_source_empty(decompress);
      return;
    }
    source->next_input_byte += wanted;
    source->bytes_in_buffer -= wanted;
  }

  static void on_progress(j_common_ptr common) {
    const auto* monitor = reinterpret_cast<const Monitor*>(common->progress);
    std::array<char, JMSG_LENGTH_MAX> text{};
    if (monitor->deadline.passed()) {
      std::snprintf(text.data(), text.size(), "decoding takes longer than the limit of %g s",
                    monitor->max_seconds);
      fail(common, text.data());
    }
    if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number > monitor->max_scans) {
      std::snprintf(text.data(), text.size(),
                    "more than %d scans, the limit for a progressive JPEG", monitor->max_scans);
      fail(common, text.data());
    }
  }

  void set_up() {
    jpeg = {};
    jpeg.err = jpeg_std_error(&error.base);
    error.base.error_exit = on_error;
    error.base.emit_message = on_message;
    error.base.output_message = on_output;
    error.warnings_are_errors = !options.allow_truncated;
    source.base = {};
    source.base.next_input_byte = bytes.data();
    source.base.bytes_in_buffer = bytes.size();
    source.base.init_source = on_source_start;
    source.base.fill_input_buffer = on_source_empty;
    source.base.skip_input_data = on_source_skip;
    source.base.resync_to_restart = jpeg_resync_to_restart;
    source.base.term_source = on_source_end;
    source.allow_truncated = options.allow_truncated;
    source.ran_dry = false;
    monitor.base = {};
    monitor.base.progress_monitor = on_progress;
    monitor.deadline = Deadline(options);
    monitor.max_scans = options.max_scans;
    monitor.max_seconds = options.max_seconds;
  }

  [[nodiscard]] Error explain(Errc code = Errc::invalid_input) const {
    return Error{code, fmt::format("JPEG: {}", error.text.data())};
  }
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

Status JpegDecoder::read(ImageSpan<std::uint8_t> out) {
  Impl& impl = *impl_;
  jpeg_decompress_struct& jpeg = impl.jpeg;
  assert(out.width() == static_cast<int>(jpeg.image_width) &&
         out.height() == static_cast<int>(jpeg.image_height));
  assert(out.channels() == 3);
  const bool cmyk = jpeg.num_components == 4;
  if (cmyk) impl.cmyk_row.resize(std::size_t{jpeg.image_width} * 4);

  const bool decoded = impl.guarded([&impl, &jpeg, out, cmyk] {
    jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    jpeg.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
      const auto y = static_cast<int>(jpeg.output_scanline);
      if (cmyk) {
        JSAMPROW row = impl.cmyk_row.data();
        jpeg_read_scanlines(&jpeg, &row, 1);
        cmyk_to_rgb(out.row(y), row, jpeg.output_width, jpeg.saw_Adobe_marker != FALSE);
        continue;
      }
      std::array<JSAMPROW, kRowsPerCall>
          rows;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
      const int count = std::min(kRowsPerCall, out.height() - y);
      for (int i = 0; i < count; ++i)
        rows[static_cast<std::size_t>(i)] = out.row(y + i);
      jpeg_read_scanlines(&jpeg, rows.data(), static_cast<JDIMENSION>(count));
    }
    jpeg_finish_decompress(&jpeg);
  });
  const Status status = decoded ? Status(ok) : Status(impl.explain());
  const bool cut = !decoded && impl.source.ran_dry && impl.retries < kMostRetries;
  impl.close();
  return cut ? read_shorter(out, status) : status;
}

// A progressive file cut inside a table: the scans before it are whole, so try again without the
// part. Only with allow_truncated; otherwise running dry is the error itself.
Status JpegDecoder::read_shorter(ImageSpan<std::uint8_t> out, const Status& failed) {
  Impl& impl = *impl_;
  const Bytes shorter = before_last_marker(impl.bytes);
  const Deadline deadline = impl.monitor.deadline;
  const int retries = impl.retries + 1;
  if (shorter.empty() || !open(shorter, DecodeOptions(impl.options))) return failed;
  impl.monitor.deadline = deadline;
  impl.retries = retries;
  return read(out);
}

}  // namespace sluice::image
