// sluice/aug/geometry/flips.cpp - left becomes right, top becomes bottom, rows become columns.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/copy_rows.h"
#include "sluice/aug/kernels/mirror.h"
#include "sluice/aug/kernels/transpose.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/pixels.h"

namespace sluice::aug {
namespace {

template <class T>
void horizontal_flip_reference(ImageSpan<T> dst, ImageView<T> src, const NoDraw&) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(x, y, c) = src.at(src.width() - 1 - x, y, c);
}

template <class T>
void horizontal_flip_fast(const Frames<T>& frames, const NoDraw&, Scratch&) {
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageSpan<T>& dst = frames.dst[f];
    const ImageView<T>& src = frames.src[f];
    kernels::mirror({row_as_bytes<T>(dst, 0), pitch(dst), row_as_bytes<T>(src, 0), pitch(src),
                     static_cast<std::size_t>(src.width()), static_cast<std::size_t>(src.height()),
                     pixel_bytes(src)});
  }
}

template <class T>
void vertical_flip_reference(ImageSpan<T> dst, ImageView<T> src, const NoDraw&) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(x, y, c) = src.at(x, src.height() - 1 - y, c);
}

/// Reads forwards, which prefetchers follow, and writes rows from the last.
template <class T>
void vertical_flip_fast(const Frames<T>& frames, const NoDraw&, Scratch&) {
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageSpan<T>& dst = frames.dst[f];
    const ImageView<T>& src = frames.src[f];
    kernels::copy_rows({row_as_bytes<T>(dst, dst.height() - 1), -pitch(dst),
                        row_as_bytes<T>(src, 0), pitch(src), src.row_bytes(),
                        static_cast<std::size_t>(src.height())});
  }
}

Shape output(const NoDraw&, Shape input) {
  return {input.height, input.width, input.channels};
}

template <class T>
void transpose_reference(ImageSpan<T> dst, ImageView<T> src, const NoDraw&) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(y, x, c) = src.at(x, y, c);
}

template <class T>
void transpose_fast(const Frames<T>& frames, const NoDraw&, Scratch&) {
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageSpan<T>& dst = frames.dst[f];
    const ImageView<T>& src = frames.src[f];
    kernels::transpose({row_as_bytes<T>(dst, 0), pitch(dst), row_as_bytes<T>(src, 0), pitch(src),
                        static_cast<std::size_t>(src.width()),
                        static_cast<std::size_t>(src.height()), pixel_bytes(src)});
  }
}

}  // namespace

TransformSpec horizontal_flip_spec() {
  return make_transform(Definition<NoParams, NoDraw>{
      .name = "HorizontalFlip",
      .doc = "Pixel (x, y) is taken from (width - 1 - x, y).",
      .parity = Parity::equal,
      .fast = {horizontal_flip_fast, horizontal_flip_fast},
      .reference = {horizontal_flip_reference, horizontal_flip_reference}});
}

TransformSpec vertical_flip_spec() {
  return make_transform(Definition<NoParams, NoDraw>{
      .name = "VerticalFlip",
      .doc = "Pixel (x, y) is taken from (x, height - 1 - y).",
      .parity = Parity::equal,
      .fast = {vertical_flip_fast, vertical_flip_fast},
      .reference = {vertical_flip_reference, vertical_flip_reference}});
}

TransformSpec transpose_spec() {
  return make_transform(
      Definition<NoParams, NoDraw>{.name = "Transpose",
                                   .doc = "Pixel (x, y) goes to (y, x).",
                                   .parity = Parity::equal,
                                   .output = output,
                                   .fast = {transpose_fast, transpose_fast},
                                   .reference = {transpose_reference, transpose_reference}});
}

}  // namespace sluice::aug
