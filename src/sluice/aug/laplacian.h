// sluice/aug/laplacian.h - what Sharpen, EnhanceEdge and EnhanceDetail are: x, plus a share of its
// difference to the neighbours.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"

#include <cstdint>

namespace sluice::aug {

/// x + weight (n x - sum of the n neighbours) - loss x, clamped; borders mirrored (reflect_101).
/// For u8 the factors are 32768ths and both terms are rounded half up to 16ths of a level, their
/// difference half up to a level.
struct Laplacian {
  int neighbours = 8;  // or 4, those that share a side
  double weight = 0;   // 0 to 1
  double loss = 0;     // -1 to 1
};

template <class T>
void laplacian_fast(const Frames<T>& frames, const Laplacian& rule, Scratch& scratch);
template <class T>
void laplacian_reference(ImageSpan<T> dst, ImageView<T> src, const Laplacian& rule);

extern template void laplacian_fast(const Frames<std::uint8_t>&, const Laplacian&, Scratch&);
extern template void laplacian_fast(const Frames<float>&, const Laplacian&, Scratch&);
extern template void laplacian_reference(ImageSpan<std::uint8_t>, ImageView<std::uint8_t>,
                                         const Laplacian&);
extern template void laplacian_reference(ImageSpan<float>, ImageView<float>, const Laplacian&);

}  // namespace sluice::aug
