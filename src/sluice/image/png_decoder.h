// sluice/image/png_decoder.h - PNG to RGB rows with libpng; used through Decoder of codec.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"
#include "sluice/image/image.h"

#include <memory>

namespace sluice::image {

/// As JpegDecoder: open() reads the header and applies the limits, read() fills pixels as stored.
class PngDecoder {
 public:
  PngDecoder();
  ~PngDecoder();
  PngDecoder(PngDecoder&&) noexcept;
  PngDecoder& operator=(PngDecoder&&) noexcept;

  Result<ImageInfo> open(Bytes bytes, const DecodeOptions& options);
  /// Precondition: the last open() succeeded and `out` has its width and height and 3 channels.
  Status read(ImageSpan<std::uint8_t> out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::image
