// sluice/aug/pointwise/invert.cpp - every sample becomes the largest less itself.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/bits.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

namespace sluice::aug {
namespace {

template <class T>
void invert_reference(ImageSpan<T> dst, ImageView<T> src, const NoDraw&) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(x, y, c) = static_cast<T>(kMaxSample<T> - src.at(x, y, c));
}

template <class T>
void invert_fast(const Frames<T>& frames, const NoDraw&, Scratch&) {
  for_each_run(frames,
               [](T* dst, const T* src, std::size_t count) { kernels::invert(dst, src, count); });
}

}  // namespace

TransformSpec invert_spec() {
  return make_transform(
      Definition<NoParams, NoDraw>{.name = "Invert",
                                   .doc = "Every sample becomes max - x.",
                                   .parity = Parity::pointwise,
                                   .fast = {invert_fast, invert_fast},
                                   .reference = {invert_reference, invert_reference},
                                   .in_place = true});
}

}  // namespace sluice::aug
