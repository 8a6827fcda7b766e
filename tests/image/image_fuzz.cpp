// tests/image/image_fuzz.cpp - libFuzzer: any bytes decode or are refused, with every switch,
// within small limits.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"
#include "sluice/image/png/decoder.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using namespace sluice::image;  // NOLINT(google-build-using-namespace): a program of one file

/// Reads every sample: memory checkers see what was not written.
void look_at(const Image& image) {
  const auto view = image.view<std::uint8_t>();
  unsigned sum = 0;
  for (int y = 0; y < view.height(); ++y)
    for (std::size_t i = 0; i < view.row_samples(); ++i)
      sum += view.row(y)[i];
  if (sum == 0xFFFFFFFF) std::abort();
}

bool same(ImageView<std::uint8_t> a, ImageView<std::uint8_t> b) {
  if (!same_shape(a, b)) return false;
  for (int y = 0; y < a.height(); ++y)
    if (std::memcmp(a.row(y), b.row(y), a.row_bytes()) != 0) return false;
  return true;
}

/// Any numbers, and one in four outside the image.
Rect region_of(unsigned mix, const ImageInfo& info) {
  const auto draw = [&mix](int limit) {
    mix = mix * 1664525 + 1013904223;
    return static_cast<int>((mix >> 8) % static_cast<unsigned>(limit));
  };
  Rect region;
  region.x = draw(info.width);
  region.y = draw(info.height);
  region.width = 1 + draw(info.width - region.x);
  region.height = 1 + draw(info.height - region.y);
  switch (mix >> 4 & 15) {
    case 0:
      region.width = static_cast<int>(mix);
      break;
    case 1:
      region.y = -region.y - 1;
      break;
    case 2:
      region.x = info.width;
      break;
    case 3:
      region.height = 0x7FFFFFFF;
      break;
    default:
      break;
  }
  return region;
}

/// A part must be that part of the whole, as far as the whole could be decoded.
void read_part(Decoder& decoder, Bytes bytes, unsigned mix, const DecodeOptions& options,
               const Image* whole) {
  static Image part;
  auto info = decoder.open(bytes, options);
  if (!info) return;
  const Rect region = region_of(mix, *info);
  const bool inside = region.x >= 0 && region.y >= 0 && region.width > 0 && region.height > 0 &&
                      region.width <= info->width - region.x &&
                      region.height <= info->height - region.y;
  const bool done = decoder.read_region(part, region).has_value();
  if (done && (!inside || options.exif)) std::abort();
  if (done) look_at(part);
  if (inside && whole != nullptr && !options.exif) {
    if (!done) std::abort();  // what decodes as a whole decodes in parts
    if (!options.allow_truncated &&
        !same(part.view<std::uint8_t>(),
              whole->view<std::uint8_t>().crop(region.x, region.y, region.width, region.height)))
      std::abort();
  }
  if (!decoder.open(bytes, options)) std::abort();
  const auto scaled = decoder.read_scaled(part, region, 1 + region.width / 5, 1);
  if (scaled) look_at(part);
}

/// Our PNG and libpng: where both decode, the same pixels.
void compare_with_libpng(Bytes bytes, const DecodeOptions& options, const Image& ours) {
  static PngDecoder reference;
  static Image theirs;
  reference.use_reference(true);
  const auto info = reference.open(bytes, options);
  if (!info || !theirs.resize_for(info->width, info->height, 3)) return;
  if (!reference.read(theirs.span<std::uint8_t>(), {0, 0, info->width, info->height})) return;
  if (!same(ours.view<std::uint8_t>(), theirs.view<std::uint8_t>())) std::abort();
}

}  // namespace

// The hash of the input picks the switches and the region, so that one corpus serves all of them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(data, size);
  unsigned mix = 0;
  for (const std::uint8_t byte : bytes)
    mix = mix * 31 + byte;
  DecodeOptions options;
  options.exif = (mix & 1) != 0;
  options.allow_truncated = (mix & 2) != 0;
  options.max_pixels = 1 << 18;
  options.max_scans = 20;
  options.max_seconds = 2;
  static Decoder decoder;  // reused on purpose: state must not leak from file to file
  static Image image;
  const auto info = decoder.read_info(bytes, options);
  const bool done = decoder.decode(image, bytes, options).has_value();
  if (done && !info) std::abort();
  if (done) look_at(image);
  if (done && info->format == Format::png && !options.exif)
    compare_with_libpng(bytes, options, image);
  read_part(decoder, bytes, mix, options, done ? &image : nullptr);
  return 0;
}
