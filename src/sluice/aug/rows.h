// sluice/aug/rows.h - runs of samples that lie together: whole images where rows have no gap.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"

#include <cstddef>

namespace sluice::aug {

/// What is a whole number on paper must not fall below it by a rounding.
inline constexpr double kRounding = 1.0 / (1 << 20);

/// Calls run(dst, src, pixels) for every stretch of pixels that is contiguous in both images: once,
/// or once per row.
template <class From, class To, class Run>
void for_each_pixel_run(const ImageSpan<To>& dst, const ImageView<From>& src, Run run) {
  const auto width = static_cast<std::size_t>(src.width());
  if (dst.contiguous() && src.contiguous())
    return run(dst.data(), src.data(), width * static_cast<std::size_t>(src.height()));
  for (int y = 0; y < src.height(); ++y)
    run(dst.row(y), src.row(y), width);
}

/// Calls run(dst, src, count) for every stretch of samples that is contiguous in both images of
/// every frame: once per image, or once per row. For work that treats samples alike wherever they
/// are.
template <class From, class To, class Run>
void for_each_run(const Frames<From, To>& frames, Run run) {
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageSpan<To>& dst = frames.dst[f];
    const ImageView<From>& src = frames.src[f];
    if (dst.contiguous() && src.contiguous()) {
      run(dst.data(), src.data(), src.samples());
      continue;
    }
    for (int y = 0; y < src.height(); ++y)
      run(dst.row(y), src.row(y), src.row_samples());
  }
}

}  // namespace sluice::aug
