// sluice/image/shrink.h - an encoded image made smaller and encoded again in its own format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/codec.h"
#include "sluice/image/resize/antialias.h"

#include <vector>

namespace sluice::image {

struct ShrinkOptions {
  int shorter_side = 256;  // pixels
  int quality = 90;        // of JPEG and WebP; PNG stays lossless
};

/// Reuse one per thread: decoder and buffers are kept.
class Shrinker {
 public:
  /// Replaces `out`. False: the shorter side is no longer than asked for, and `out` holds the bytes
  /// as they were. Pixels are taken as stored: an EXIF orientation is neither applied nor kept.
  Result<bool> run(std::vector<std::uint8_t>& out, Bytes encoded, const ShrinkOptions& options);

 private:
  Decoder decoder_;
  AntialiasResizer resizer_;
  Image decoded_, smaller_;
};

}  // namespace sluice::image
