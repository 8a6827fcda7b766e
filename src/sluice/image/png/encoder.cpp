// sluice/image/png/encoder.cpp - u8 pixels to PNG with libpng.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <png.h>
#include <type_traits>

namespace sluice::image {
namespace {

/// Grows by malloc, which does not throw through libpng's frames.
struct PngEncoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump{};
  std::array<char, 200> text{};
  std::uint8_t* memory = nullptr;
  std::size_t size = 0;
  std::size_t capacity = 0;

  PngEncoder() = default;
  PngEncoder(const PngEncoder&) = delete;
  PngEncoder& operator=(const PngEncoder&) = delete;
  ~PngEncoder() {
    if (png != nullptr) png_destroy_write_struct(&png, &info);
    std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
  }

  template <class Body>
  bool guarded(Body body) {
    static_assert(std::is_trivially_destructible_v<Body>);
    if (setjmp(jump) != 0) return false;  // NOLINT: the only way libpng offers
    body();
    return true;
  }

  [[noreturn]] void fail(const char* message) {
    std::snprintf(text.data(), text.size(), "%s", message);
    std::longjmp(jump, 1);
  }

  static void on_error(png_structp png, png_const_charp message) {
    static_cast<PngEncoder*>(png_get_error_ptr(png))->fail(message);
  }
  static void on_warning(png_structp /*png*/, png_const_charp /*message*/) {}
  static void on_flush(png_structp /*png*/) {}

  static void on_write(png_structp png, png_bytep from, std::size_t count) {
    auto* encoder = static_cast<PngEncoder*>(png_get_io_ptr(png));
    if (encoder->capacity - encoder->size < count) {
      const std::size_t wanted = std::max(encoder->capacity * 2, encoder->size + count + 4096);
      void* grown = std::realloc(encoder->memory, wanted);  // NOLINT(cppcoreguidelines-no-malloc)
      if (grown == nullptr) encoder->fail("out of memory");
      encoder->memory = static_cast<std::uint8_t*>(grown);
      encoder->capacity = wanted;
    }
    std::memcpy(encoder->memory + encoder->size, from, count);
    encoder->size += count;
  }

  void run(ImageView<std::uint8_t> image, int level) {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) fail("out of memory");
    png_set_write_fn(png, this, on_write, on_flush);
    constexpr std::array kColour = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                    PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    png_set_user_limits(png, kMaxSide, kMaxSide);
    png_set_IHDR(png, info, static_cast<png_uint_32>(image.width()),
                 static_cast<png_uint_32>(image.height()), 8,
                 kColour[static_cast<std::size_t>(image.channels() - 1)], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, level);
    png_write_info(png, info);
    for (int y = 0; y < image.height(); ++y)
      png_write_row(png, image.row(y));
    png_write_end(png, nullptr);
  }
};

}  // namespace

Status encode_png(std::vector<std::uint8_t>& out, ImageView<std::uint8_t> image, int level) {
  if (image.channels() > 4)
    return Error{Errc::invalid_input,
                 fmt::format("PNG of {} channels: 1 to 4 are accepted", image.channels())};
  if (level < 0 || level > 9)
    return Error{Errc::usage, fmt::format("PNG level {}: 0 to 9 is accepted", level)};
  PngEncoder encoder;
  if (!encoder.guarded([&encoder, image, level] { encoder.run(image, level); }))
    return Error{Errc::internal, fmt::format("PNG: {}", encoder.text.data())};
  out.assign(encoder.memory, encoder.memory + encoder.size);
  return ok;
}

}  // namespace sluice::image
