// sluice/image/png/decoder.cpp - PNG to RGB rows: the fast path first, libpng for the rest.
// SPDX-License-Identifier: Apache-2.0
//
// libpng reports errors by longjmp: see jpeg/decoder.cpp for the discipline that keeps this safe.
#include "sluice/image/png/decoder.h"

#include "sluice/image/limits.h"
#include "sluice/image/png/fast.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <png.h>

namespace sluice::image {

struct PngDecoder::Impl {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump{};
  std::array<char, 200> text{};
  Bytes bytes;  // all of the file
  Bytes rest;
  FastPng fast;
  bool use_fast = true;
  bool is_fast = false;  // what is open is for the fast path
  Image whole;           // of which libpng's region is a part
  bool truncated = false;
  bool allow_truncated = false;
  Deadline deadline;
  double max_seconds = 0;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { close(); }

  void close() {
    if (png != nullptr) png_destroy_read_struct(&png, &info, nullptr);
    png = nullptr;
    info = nullptr;
  }

  /// Runs `body`; false when the library gave up, with the reason in `text`.
  template <class Body>
  bool guarded(Body body) {
    static_assert(std::is_trivially_destructible_v<Body>);
    if (setjmp(jump) != 0) return false;  // NOLINT: the only way libpng offers
    body();
    return true;
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto* impl = static_cast<Impl*>(png_get_error_ptr(png));
    std::snprintf(impl->text.data(), impl->text.size(), "%s", message);
    std::longjmp(impl->jump, 1);
  }

  static void on_warning(png_structp /*png*/, png_const_charp /*message*/) {}  // never stderr

  static void on_read(png_structp png, png_bytep to, std::size_t count) {
    auto* impl = static_cast<Impl*>(png_get_io_ptr(png));
    if (count > impl->rest.size()) {
      impl->truncated = true;
      on_error(png, "truncated: the data ends early");
    }
    std::memcpy(to, impl->rest.data(), count);
    impl->rest = impl->rest.subspan(count);
  }

  static void on_row(png_structp png, png_uint_32 /*row*/, int /*pass*/) {
    auto* impl = static_cast<Impl*>(png_get_io_ptr(png));
    if (!impl->deadline.passed()) return;
    std::array<char, 100> message{};
    std::snprintf(message.data(), message.size(), "decoding takes longer than the limit of %g s",
                  impl->max_seconds);
    impl->allow_truncated = false;  // a time limit is no damage to be tolerated
    on_error(png, message.data());
  }

  void start() {
    rest = bytes;
    truncated = false;
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) {
      std::snprintf(text.data(), text.size(), "out of memory");
      std::longjmp(jump, 1);
    }
    png_set_read_fn(png, this, on_read);
    png_set_read_status_fn(png, on_row);
    png_set_user_limits(png, kMaxSide, kMaxSide);
    png_set_chunk_malloc_max(png, 8 << 20);
    // Colour profiles, text and EXIF are not pixels: skipped unread.
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png, info);
  }

  void set_transforms() {
    png_set_scale_16(png);  // round(v / 257)
    png_set_expand(png);    // palette to RGB, 1/2/4 bits to 8, tRNS to alpha
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
  }

  [[nodiscard]] ImageInfo describe() const {
    ImageInfo result;
    result.format = Format::png;
    result.width = static_cast<int>(png_get_image_width(png, info));
    result.height = static_cast<int>(png_get_image_height(png, info));
    result.channels = png_get_channels(png, info);
    result.colour = (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) != 0;
    result.bit_depth = png_get_bit_depth(png, info);
    result.progressive = png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
    return result;
  }

  /// All of the image; libpng is closed afterwards.
  Status read_rows(ImageSpan<std::uint8_t> out) {
    if (allow_truncated)  // rows that never arrive are black
      for (int y = 0; y < out.height(); ++y)
        std::memset(out.row(y), 0, out.row_bytes());
    const bool decoded = guarded([this, out] {
      set_transforms();
      const int passes = png_set_interlace_handling(png);
      png_read_update_info(png, info);
      if (png_get_rowbytes(png, info) != out.row_bytes())
        png_error(png, "internal: rows of an unexpected size");
      for (int pass = 0; pass < passes; ++pass)
        for (int y = 0; y < out.height(); ++y)
          png_read_row(png, out.row(y), nullptr);
      png_read_end(png, nullptr);
    });
    const Status status = decoded || allow_truncated ? Status(ok) : Status(explain());
    close();
    return status;
  }

  [[nodiscard]] Error explain() const {
    return Error{Errc::invalid_input, fmt::format("PNG: {}", text.data())};
  }
};

PngDecoder::PngDecoder() : impl_(std::make_unique<Impl>()) {}
PngDecoder::~PngDecoder() = default;
PngDecoder::PngDecoder(PngDecoder&&) noexcept = default;
PngDecoder& PngDecoder::operator=(PngDecoder&&) noexcept = default;

void PngDecoder::use_reference(bool on) {
  impl_->use_fast = !on;
}

Result<ImageInfo> PngDecoder::open(Bytes bytes, const DecodeOptions& options) {
  Impl& impl = *impl_;
  impl.close();
  impl.bytes = bytes;
  impl.allow_truncated = options.allow_truncated;
  impl.deadline = Deadline(options);
  impl.max_seconds = options.max_seconds;
  const std::optional<ImageInfo> common = impl.use_fast ? impl.fast.open(bytes) : std::nullopt;
  impl.is_fast = common.has_value();
  ImageInfo info;
  if (common) {
    info = *common;
  } else {
    if (!impl.guarded([&impl] { impl.start(); })) return impl.explain();
    info = impl.describe();
  }
  SLUICE_CHECK(check_pixels(static_cast<std::uint64_t>(info.width),
                            static_cast<std::uint64_t>(info.height), options));
  constexpr std::uint64_t kDeflateRatio = 1032;  // the most that deflate can shrink
  const std::uint64_t row_bits = static_cast<std::uint64_t>(info.width) *
                                 static_cast<std::uint64_t>(info.channels * info.bit_depth);
  SLUICE_CHECK(check_plausible(static_cast<std::uint64_t>(info.height) * ((row_bits + 7) / 8),
                               bytes.size(), kDeflateRatio, options));
  return info;
}

Status PngDecoder::read(ImageSpan<std::uint8_t> out, Rect region) {
  Impl& impl = *impl_;
  assert(out.width() == region.width && out.height() == region.height && out.channels() == 3);
  if (impl.is_fast) {
    const FastPng::Outcome outcome = impl.fast.read(out, region, impl.deadline);
    if (outcome == FastPng::Outcome::done) return ok;
    if (outcome == FastPng::Outcome::too_slow)
      return Error{
          Errc::invalid_input,
          fmt::format("PNG: decoding takes longer than the limit of {} s", impl.max_seconds)};
    if (!impl.guarded([&impl] { impl.start(); })) return impl.explain();
  }
  return read_reference(out, region);
}

Status PngDecoder::read_reference(ImageSpan<std::uint8_t> out, Rect region) {
  Impl& impl = *impl_;
  const auto width = static_cast<int>(png_get_image_width(impl.png, impl.info));
  const auto height = static_cast<int>(png_get_image_height(impl.png, impl.info));
  if (region.width == width && region.height == height) return impl.read_rows(out);
  SLUICE_CHECK(impl.whole.resize_for(width, height, 3));
  SLUICE_CHECK(impl.read_rows(impl.whole.span<std::uint8_t>()));
  const auto part =
      impl.whole.view<std::uint8_t>().crop(region.x, region.y, region.width, region.height);
  for (int y = 0; y < region.height; ++y)
    std::memcpy(out.row(y), part.row(y), part.row_bytes());
  return ok;
}

}  // namespace sluice::image
