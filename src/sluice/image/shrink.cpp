// sluice/image/shrink.cpp - decode, antialiased resize, encode.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/shrink.h"

#include <algorithm>

namespace sluice::image {

Result<bool> Shrinker::run(std::vector<std::uint8_t>& out, Bytes encoded,
                           const ShrinkOptions& options) {
  SLUICE_TRY(const ImageInfo info, decoder_.read_info(encoded));
  const int shorter = std::min(info.width, info.height);
  if (shorter <= options.shorter_side) {
    out.assign(encoded.begin(), encoded.end());
    return false;
  }
  SLUICE_CHECK(decoder_.decode(decoded_, encoded));
  const auto scaled = [&](int size) {
    const std::int64_t exact = std::int64_t{size} * options.shorter_side;
    return static_cast<int>((exact + shorter / 2) / shorter);
  };
  SLUICE_CHECK(smaller_.resize_for(scaled(decoded_.width()), scaled(decoded_.height()), 3));
  SLUICE_CHECK(resizer_.run(smaller_.span<std::uint8_t>(), decoded_.view<std::uint8_t>()));
  const auto pixels = smaller_.view<std::uint8_t>();
  switch (info.format) {
    case Format::png:
      SLUICE_CHECK(encode_png(out, pixels));
      break;
    case Format::webp:
      SLUICE_CHECK(encode_webp(out, pixels, {.quality = options.quality}));
      break;
    case Format::jpeg:
      SLUICE_CHECK(encode_jpeg(out, pixels, {.quality = options.quality}));
      break;
  }
  return true;
}

}  // namespace sluice::image
