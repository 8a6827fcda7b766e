// sluice/image/png/fast.h - the common PNGs, by libdeflate and our own rows; the rest is libpng's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/codec.h"
#include "sluice/image/image.h"
#include "sluice/image/limits.h"

#include <memory>
#include <optional>

namespace sluice::image {

/// 8-bit PNGs without interlacing and tRNS. Whatever is unusual or damaged is declined, never
/// judged: libpng then decides, so that both paths have the same rules and the same errors.
class FastPng {
 public:
  FastPng();
  ~FastPng();
  FastPng(const FastPng&) = delete;
  FastPng& operator=(const FastPng&) = delete;

  /// From the header and the list of chunks; nothing where the file is not for us. `file` must live
  /// until read() returns.
  std::optional<ImageInfo> open(Bytes file);

  enum class Outcome : std::uint8_t { done, declined, too_slow };
  /// Precondition: the last open() gave a value; `region` lies inside and has the size of `out`.
  Outcome read(ImageSpan<std::uint8_t> out, Rect region, const Deadline& deadline);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::image
