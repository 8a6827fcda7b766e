// sluice/aug/pixels.h - rows and pixels as bytes: what moves pixels need not know their type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice::aug {

template <class T>
std::size_t pixel_bytes(const image::BasicView<T>& view) {
  return static_cast<std::size_t>(view.channels()) * sizeof(T);
}

template <class T>
std::uint8_t* row_as_bytes(const ImageSpan<T>& span, int y) {
  return reinterpret_cast<std::uint8_t*>(span.row(y));
}
template <class T>
const std::uint8_t* row_as_bytes(const ImageView<T>& view, int y) {
  return reinterpret_cast<const std::uint8_t*>(view.row(y));
}

template <class T>
std::ptrdiff_t pitch(const image::BasicView<T>& view) {
  return static_cast<std::ptrdiff_t>(view.pitch_bytes());
}

/// Sample i of a row becomes `value`, for i in [begin, end).
template <class T>
void fill_samples(T* row, std::size_t begin, std::size_t end, T value) {
  if constexpr (sizeof(T) == 1)
    std::memset(row + begin, value, end - begin);
  else
    std::fill(row + begin, row + end, value);
}

/// Shapes agree: a copy.
template <class T>
void copy_image(const ImageSpan<T>& dst, const ImageView<T>& src) {
  if (dst.data() == src.data()) return;
  if (dst.contiguous() && src.contiguous()) {
    std::memcpy(dst.data(), src.data(), src.samples() * sizeof(T));
    return;
  }
  for (int y = 0; y < src.height(); ++y)
    std::memcpy(dst.row(y), src.row(y), src.row_bytes());
}

}  // namespace sluice::aug
