// sluice/image/webp/decoder.h - WebP to RGB rows with libwebp; used through Decoder of codec.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"
#include "sluice/image/image.h"
#include "sluice/image/limits.h"

namespace sluice::image {

/// As JpegDecoder: open() reads the header and applies the limits, read() fills pixels as stored.
class WebpDecoder {
 public:
  Result<ImageInfo> open(Bytes bytes, const DecodeOptions& options);
  /// The part `region` of the image. Precondition: the last open() succeeded, the region lies
  /// inside, and `out` has its size and 3 channels.
  Status read(ImageSpan<std::uint8_t> out, Rect region);

 private:
  Status read_crop(ImageSpan<std::uint8_t> out, Rect crop);

  Bytes bytes_;
  int width_ = 0;
  int height_ = 0;
  bool allow_truncated_ = false;
  double max_seconds_ = 0;
  Deadline deadline_;
  Image margin_;  // a region and the neighbours that its pixels need
};

}  // namespace sluice::image
