// sluice/aug/staged.h - images with rows shorter than a vector, moved to where rows have room.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"

#include <algorithm>
#include <cstddef>

namespace sluice::aug {

/// Rows of at least so many samples hold one vector of any instruction set.
inline constexpr std::size_t kVectorSamples = 64;

/// Calls body(dst, src) per frame. Kernels treat the end of a row as one more vector that overlaps
/// the last; rows too short for that are copied to scratch memory where kVectorSamples may be read
/// and written from the start of each row.
template <class T, class Body>
void for_each_staged(const Frames<T>& frames, Scratch& scratch, Body body) {
  const ImageView<T>& first = frames.src[0];
  if (first.row_samples() >= kVectorSamples) {
    for (std::size_t f = 0; f < frames.size(); ++f)
      body(frames.dst[f], frames.src[f]);
    return;
  }
  const auto rows = static_cast<std::size_t>(first.height());
  const std::size_t pitch = kVectorSamples * sizeof(T);
  const std::span<T> in = scratch.take<T>(rows * kVectorSamples);
  const std::span<T> out = scratch.take<T>(rows * kVectorSamples);
  std::fill(in.begin(), in.end(), T{});
  const ImageSpan<T> staged(in.data(), first.width(), first.height(), first.channels(), pitch);
  const ImageSpan<T> made(out.data(), first.width(), first.height(), first.channels(), pitch);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    for (int y = 0; y < first.height(); ++y)
      std::copy_n(frames.src[f].row(y), first.row_samples(), staged.row(y));
    body(made, ImageView<T>(staged));
    for (int y = 0; y < first.height(); ++y)
      std::copy_n(made.row(y), first.row_samples(), frames.dst[f].row(y));
  }
}

}  // namespace sluice::aug
