// sluice/image/png/decoder.h - PNG to RGB rows; used through Decoder of codec.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"
#include "sluice/image/image.h"

#include <memory>

namespace sluice::image {

/// As JpegDecoder: open() reads the header and applies the limits, read() fills pixels as stored.
/// Common files are decoded by fast.h; what that declines, and all damage, by libpng.
class PngDecoder {
 public:
  PngDecoder();
  ~PngDecoder();
  PngDecoder(PngDecoder&&) noexcept;
  PngDecoder& operator=(PngDecoder&&) noexcept;

  Result<ImageInfo> open(Bytes bytes, const DecodeOptions& options);
  /// The part `region` of the image. Precondition: the last open() succeeded, the region lies
  /// inside, and `out` has its size and 3 channels.
  Status read(ImageSpan<std::uint8_t> out, Rect region);
  /// For tests: libpng decodes everything.
  void use_reference(bool on);

 private:
  Status read_reference(ImageSpan<std::uint8_t> out, Rect region);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::image
