// sluice/image/jpeg/exif.cpp - the EXIF orientation: found in the bytes, applied to pixels.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/jpeg/exif.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string_view>

namespace sluice::image {
namespace {

constexpr std::string_view kExifHeader("Exif\0\0", 6);

bool starts_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

/// `count` bytes at `offset` as a number; 0 when they are not all there.
std::uint32_t number(Bytes bytes, std::size_t offset, std::size_t count, bool big_endian) {
  if (offset > bytes.size() || bytes.size() - offset < count) return 0;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i)
    value = (value << 8) | bytes[offset + (big_endian ? i : count - 1 - i)];
  return value;
}

}  // namespace

int tiff_orientation(Bytes tiff) {
  const bool big = starts_with(tiff, "MM");
  if (!big && !starts_with(tiff, "II")) return 1;
  if (number(tiff, 2, 2, big) != 42) return 1;
  const std::size_t directory = number(tiff, 4, 4, big);
  const std::size_t entries = number(tiff, directory, 2, big);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * 12;
    if (entry + 12 > tiff.size()) return 1;
    constexpr std::uint32_t kOrientationTag = 0x0112, kShort = 3;
    if (number(tiff, entry, 2, big) != kOrientationTag) continue;
    if (number(tiff, entry + 2, 2, big) != kShort || number(tiff, entry + 4, 4, big) != 1) return 1;
    const std::uint32_t value = number(tiff, entry + 8, 2, big);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

int jpeg_orientation(Bytes file) {
  std::size_t at = 2;  // after SOI
  while (at + 4 <= file.size() && file[at] == 0xFF) {
    const std::uint8_t marker = file[at + 1];
    if (marker == 0xFF) {  // fill byte
      ++at;
      continue;
    }
    if (marker == 0xDA || marker == 0xD9) return 1;  // the scan, or the end
    if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) {
      at += 2;  // markers without a length
      continue;
    }
    const std::size_t length = number(file, at + 2, 2, true);
    if (length < 2 || length > file.size() - at - 2) return 1;
    const Bytes segment = file.subspan(at + 4, length - 2);
    if (marker == 0xE1 && starts_with(segment, kExifHeader))
      return tiff_orientation(segment.subspan(kExifHeader.size()));
    at += 2 + length;
  }
  return 1;
}

int png_orientation(Bytes file) {
  std::size_t at = 8;  // after the signature
  while (at <= file.size() && file.size() - at >= 12) {
    const std::size_t length = number(file, at, 4, true);
    if (length > file.size() - at - 12) return 1;
    const Bytes type = file.subspan(at + 4, 4);
    if (starts_with(type, "eXIf")) return tiff_orientation(file.subspan(at + 8, length));
    if (starts_with(type, "IEND")) return 1;
    at += 12 + length;
  }
  return 1;
}

int webp_orientation(Bytes file) {
  std::size_t at = 12;  // after "RIFF", the size and "WEBP"
  while (at <= file.size() && file.size() - at >= 8) {
    const std::size_t length = number(file, at + 4, 4, false);
    if (length > file.size() - at - 8) return 1;
    if (starts_with(file.subspan(at, 4), "EXIF")) {
      const Bytes data = file.subspan(at + 8, length);
      // Some writers keep the header of JPEG's segment.
      return tiff_orientation(starts_with(data, kExifHeader) ? data.subspan(kExifHeader.size())
                                                             : data);
    }
    at += 8 + length + length % 2;
  }
  return 1;
}

void orient(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src, int orientation) {
  assert(orientation >= 1 && orientation <= 8 && dst.channels() == src.channels());
  const bool swaps = orientation_swaps(orientation);
  assert(dst.width() == (swaps ? src.height() : src.width()));
  assert(dst.height() == (swaps ? src.width() : src.height()));
  // Where the shown image's left-to-right and top-to-bottom lie in the stored one.
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const auto channels = static_cast<std::size_t>(src.channels());
  for (int y = 0; y < dst.height(); ++y) {
    std::uint8_t* to = dst.row(y);
    for (int x = 0; x < dst.width(); ++x, to += channels) {
      const int u = swaps ? y : x;
      const int v = swaps ? x : y;
      std::memcpy(
          to,
          &src.at(from_right ? src.width() - 1 - u : u, from_bottom ? src.height() - 1 - v : v, 0),
          channels);
    }
  }
}

}  // namespace sluice::image
