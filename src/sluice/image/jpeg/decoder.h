// sluice/image/jpeg/decoder.h - JPEG to RGB rows with libjpeg-turbo; used through Decoder of
// codec.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"
#include "sluice/image/image.h"

#include <memory>

namespace sluice::image {

/// open() reads the header and applies the limits, read() then fills pixels as stored (no
/// orientation). `bytes` must live until read() returns. Each open() starts afresh, whatever became
/// of the file before, and serves one read().
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;
  JpegDecoder& operator=(JpegDecoder&&) noexcept;

  Result<ImageInfo> open(Bytes bytes, const DecodeOptions& options);
  /// Precondition: the last open() succeeded and `out` has its width and height and 3 channels.
  Status read(ImageSpan<std::uint8_t> out);
  /// The part `region` of the image decoded at `scale`, in pixels of the scaled image.
  /// Precondition: as above, it lies inside, and `out` has its size.
  Status read(ImageSpan<std::uint8_t> out, Rect region, DctScale scale);

 private:
  Status read_shorter(ImageSpan<std::uint8_t> out, Rect region, DctScale scale,
                      const Status& failed);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::image
