// sluice/image/png_decoder.cpp - PNG to RGB rows with libpng.
// SPDX-License-Identifier: Apache-2.0
//
// libpng reports errors by longjmp: see jpeg_decoder.cpp for the discipline that keeps this safe.
#include "sluice/image/png_decoder.h"

#include "sluice/image/limits.h"

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
  Bytes rest;
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

  [[nodiscard]] Error explain() const {
    return Error{Errc::invalid_input, fmt::format("PNG: {}", text.data())};
  }
};

PngDecoder::PngDecoder() : impl_(std::make_unique<Impl>()) {}
PngDecoder::~PngDecoder() = default;
PngDecoder::PngDecoder(PngDecoder&&) noexcept = default;
PngDecoder& PngDecoder::operator=(PngDecoder&&) noexcept = default;

Result<ImageInfo> PngDecoder::open(Bytes bytes, const DecodeOptions& options) {
  Impl& impl = *impl_;
  impl.close();
  impl.rest = bytes;
  impl.truncated = false;
  impl.allow_truncated = options.allow_truncated;
  impl.deadline = Deadline(options);
  impl.max_seconds = options.max_seconds;
  if (!impl.guarded([&impl] { impl.start(); })) return impl.explain();
  const png_uint_32 width = png_get_image_width(impl.png, impl.info);
  const png_uint_32 height = png_get_image_height(impl.png, impl.info);
  SLUICE_CHECK(check_pixels(width, height, options));
  constexpr std::uint64_t kDeflateRatio = 1032;  // the most that deflate can shrink
  SLUICE_CHECK(check_plausible(std::uint64_t{height} * png_get_rowbytes(impl.png, impl.info),
                               bytes.size(), kDeflateRatio, options));
  ImageInfo info;
  info.format = Format::png;
  info.width = static_cast<int>(width);
  info.height = static_cast<int>(height);
  info.channels = png_get_channels(impl.png, impl.info);
  info.colour = (png_get_color_type(impl.png, impl.info) & PNG_COLOR_MASK_COLOR) != 0;
  info.bit_depth = png_get_bit_depth(impl.png, impl.info);
  info.progressive = png_get_interlace_type(impl.png, impl.info) != PNG_INTERLACE_NONE;
  return info;
}

Status PngDecoder::read(ImageSpan<std::uint8_t> out) {
  Impl& impl = *impl_;
  assert(out.channels() == 3);
  if (impl.allow_truncated)  // rows that never arrive are black
    for (int y = 0; y < out.height(); ++y)
      std::memset(out.row(y), 0, out.row_bytes());
  const bool decoded = impl.guarded([&impl, out] {
    impl.set_transforms();
    const int passes = png_set_interlace_handling(impl.png);
    png_read_update_info(impl.png, impl.info);
    if (png_get_rowbytes(impl.png, impl.info) != out.row_bytes())
      png_error(impl.png, "internal: rows of an unexpected size");
    for (int pass = 0; pass < passes; ++pass)
      for (int y = 0; y < out.height(); ++y)
        png_read_row(impl.png, out.row(y), nullptr);
    png_read_end(impl.png, nullptr);
  });
  const Status status = decoded || impl.allow_truncated ? Status(ok) : Status(impl.explain());
  impl.close();
  return status;
}

}  // namespace sluice::image
