// sluice/aug/filters/median_blur.cpp - the median over a square.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/border.h"
#include "sluice/aug/kernels/median.h"
#include "sluice/aug/make_transform.h"

#include <algorithm>
#include <array>

namespace sluice::aug {
namespace {

struct MedianBlurParams {
  int blur_limit = 5;
};
struct MedianBlurDraw {};

template <class T>
void median_blur_reference(ImageSpan<T> dst, ImageView<T> src, const MedianBlurDraw&) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        std::array<T, 25> window;
        for (int k = 0; k < 25; ++k)
          window[static_cast<std::size_t>(k)] = src.at(replicate(x + k % 5 - 2, src.width()),
                                                       replicate(y + k / 5 - 2, src.height()), c);
        std::nth_element(window.begin(), window.begin() + 12, window.end());
        dst.at(x, y, c) = window[12];
      }
}

template <class T>
void median_blur_fast(const Frames<T>& frames, const MedianBlurDraw&, Scratch& scratch) {
  const auto memory = scratch.take<std::byte>(kernels::median_5x5_bytes(frames.src[0].channels()));
  for (std::size_t f = 0; f < frames.size(); ++f)
    kernels::median_5x5(frames.dst[f], frames.src[f], memory.data());
}

}  // namespace

TransformSpec median_blur_spec() {
  return make_transform(Definition<MedianBlurParams, MedianBlurDraw>{
      .name = "MedianBlur",
      .doc = "The median over 5 x 5 pixels, each channel for itself. Borders repeat the edge.",
      .parity = Parity::equal,
      .params = {field("blur_limit", &MedianBlurParams::blur_limit, 5, 5, "side of the square")},
      .fast = {median_blur_fast, median_blur_fast},
      .reference = {median_blur_reference, median_blur_reference}});
}

}  // namespace sluice::aug
