// python/native/pixels.h - an array of Python as views of its pixels, without a copy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/image.h"

#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <vector>

namespace sluice::python {

namespace nb = nanobind;

/// The frames of H x W x C or T x H x W x C, uint8 or float32. Rows may be apart (a slice of a
/// larger image); anything less regular is copied once by numpy.
struct Pixels {
  nb::ndarray<nb::ro> array;  // keeps the memory
  bool clip = false;          // four dimensions
  image::DType dtype = image::DType::u8;
  std::vector<image::ImageView<std::uint8_t>> u8;
  std::vector<image::ImageView<float>> f32;

  [[nodiscard]] std::size_t frames() const { return u8.size() + f32.size(); }
};

/// TypeError for what is no array, ValueError for one of another type or shape.
Pixels pixels_of(nb::handle array);

}  // namespace sluice::python
